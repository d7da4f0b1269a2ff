// Keeps the cluster list of a façade with a reflector of client-go, and prints the list for every line on standard input.
//
// Arguments: the address, a file with the CA certificate, a bearer token.
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

// Cluster has the fields of a Cluster that the test compares.
type Cluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              json.RawMessage `json:"spec,omitempty"`
}

// ClusterList is a list of Clusters.
type ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []Cluster `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (c *Cluster) DeepCopyObject() runtime.Object {
	return &Cluster{TypeMeta: c.TypeMeta, ObjectMeta: *c.ObjectMeta.DeepCopy(), Spec: append(json.RawMessage(nil), c.Spec...)}
}

// DeepCopyObject implements runtime.Object.
func (l *ClusterList) DeepCopyObject() runtime.Object {
	items := make([]Cluster, 0, len(l.Items))
	for i := range l.Items {
		items = append(items, *l.Items[i].DeepCopyObject().(*Cluster))
	}
	return &ClusterList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy(), Items: items}
}

type shown struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels"`
	Spec   json.RawMessage   `json:"spec"`
}

func main() {
	client, err := clientOf(os.Args[1], os.Args[2], os.Args[3])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	source := cache.NewListWatchFromClient(client, "clusters", metav1.NamespaceAll, fields.Everything())
	go cache.NewReflector(source, &Cluster{}, store, 0).RunWithContext(context.Background())
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		all := []shown{}
		for _, object := range store.List() {
			cluster := object.(*Cluster)
			all = append(all, shown{Name: cluster.Name, Labels: cluster.Labels, Spec: cluster.Spec})
		}
		sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
		text, _ := json.Marshal(all)
		fmt.Println(string(text))
	}
}

func clientOf(host, caFile, token string) (*rest.RESTClient, error) {
	known := runtime.NewScheme()
	group := schema.GroupVersion{Group: "registry.purser.dev", Version: "v1alpha1"}
	known.AddKnownTypes(group, &Cluster{}, &ClusterList{})
	metav1.AddToGroupVersion(known, group)
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
