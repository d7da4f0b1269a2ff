// Keeps a list of a façade with a reflector of client-go, and prints the list for every line on standard input.
//
// Arguments: the address, a file with the CA certificate, a bearer token, the plural name of the listed kind.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sort"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// Object has the fields of a listed object that the test compares.
type Object struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              json.RawMessage `json:"spec,omitempty"`
}

// ObjectList is a list of objects.
type ObjectList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []Object `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (o *Object) DeepCopyObject() runtime.Object {
	return &Object{TypeMeta: o.TypeMeta, ObjectMeta: *o.ObjectMeta.DeepCopy(), Spec: append(json.RawMessage(nil), o.Spec...)}
}

// DeepCopyObject implements runtime.Object.
func (l *ObjectList) DeepCopyObject() runtime.Object {
	items := make([]Object, 0, len(l.Items))
	for i := range l.Items {
		items = append(items, *l.Items[i].DeepCopyObject().(*Object))
	}
	return &ObjectList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy(), Items: items}
}

// kinds are the listed kinds by their plural names.
var kinds = map[string]schema.GroupVersionKind{
	"clusters":      {Group: "registry.purser.dev", Version: "v1alpha1", Kind: "Cluster"},
	"managedtokens": {Group: "tokens.purser.dev", Version: "v1alpha1", Kind: "ManagedToken"},
}

type shown struct {
	Namespace string            `json:"namespace,omitempty"`
	Name      string            `json:"name"`
	Labels    map[string]string `json:"labels"`
	Spec      json.RawMessage   `json:"spec"`
}

func main() {
	plural := os.Args[4]
	client, err := clientOf(os.Args[1], os.Args[2], os.Args[3], kinds[plural])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	source := cache.NewListWatchFromClient(client, plural, metav1.NamespaceAll, fields.Everything())
	go cache.NewReflector(source, &Object{}, store, 0).RunWithContext(context.Background())
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		all := []shown{}
		for _, stored := range store.List() {
			object := stored.(*Object)
			all = append(all, shown{Namespace: object.Namespace, Name: object.Name, Labels: object.Labels, Spec: object.Spec})
		}
		sort.Slice(all, func(i, j int) bool {
			return all[i].Namespace+"/"+all[i].Name < all[j].Namespace+"/"+all[j].Name
		})
		text, _ := json.Marshal(all)
		fmt.Println(string(text))
	}
}

func clientOf(host, caFile, token string, kind schema.GroupVersionKind) (*rest.RESTClient, error) {
	known := runtime.NewScheme()
	known.AddKnownTypeWithName(kind, &Object{})
	known.AddKnownTypeWithName(kind.GroupVersion().WithKind(kind.Kind+"List"), &ObjectList{})
	metav1.AddToGroupVersion(known, kind.GroupVersion())
	metav1.AddToGroupVersion(known, schema.GroupVersion{Version: "v1"})
	return rest.RESTClientFor(&rest.Config{
		Host:            host,
		APIPath:         "/auth",
		BearerToken:     token,
		TLSClientConfig: rest.TLSClientConfig{CAFile: caFile},
		ContentConfig: rest.ContentConfig{
			GroupVersion:         &schema.GroupVersion{Version: "v1"},
			NegotiatedSerializer: serializer.NewCodecFactory(known).WithoutConversion(),
		},
	})
}
