// Requests a token from a façade with the typed client of client-go, and prints the response.
//
// Arguments: the address, a file with the CA certificate, a bearer token, the namespace and the name of the service account, and an
// audience.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func main() {
	answer, err := createToken(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	text, _ := json.Marshal(answer)
	fmt.Println(string(text))
}

func createToken(args []string) (*authenticationv1.TokenRequest, error) {
	host, caFile, token, namespace, name, audience := args[0], args[1], args[2], args[3], args[4], args[5]
	client, err := kubernetes.NewForConfig(&rest.Config{
		Host:            host,
		BearerToken:     token,
		TLSClientConfig: rest.TLSClientConfig{CAFile: caFile},
	})
	if err != nil {
		return nil, err
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{audience}}}
	return client.CoreV1().ServiceAccounts(namespace).CreateToken(context.Background(), name, request, metav1.CreateOptions{})
}
