// Forwards all requests to an API server with httputil.ReverseProxy, without authentication. A bench compares its CPU time with that of
// the façade. Prints its address once it listens.
//
// Arguments: the address of the API server, a file with its CA certificate, and files with the certificate and the key to serve.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
)

func main() {
	if err := serve(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(args []string) error {
	server, caFile, certFile, keyFile := args[0], args[1], args[2], args[3]
	target, err := url.Parse(server)
	if err != nil {
		return err
	}
	ca, err := os.ReadFile(caFile)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return errors.New("the CA file contains no certificate")
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(request *httputil.ProxyRequest) { request.SetURL(target) },
		// Without idle connections for all callers, most requests would open one.
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, MaxIdleConnsPerHost: 1024},
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("https://%s\n", listener.Addr())
	return http.ServeTLS(listener, proxy, certFile, keyFile)
}
