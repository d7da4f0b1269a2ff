// A consumer of ClusterProfiles: lists the namespaces of the cluster that a profile describes, as Kueue and Headlamp connect to it.
// It uses the access library of the cluster inventory API, which runs the plugin that the provider file names.
//
// Usage: profile-namespaces PROVIDER_FILE NAMESPACE PROFILE, with KUBECONFIG for the hub.
package main

import (
	"context"
	"fmt"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/cluster-inventory-api/client/clientset/versioned"
	"sigs.k8s.io/cluster-inventory-api/pkg/access"
)

func main() {
	if err := list(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func list(providerFile, namespace, name string) error {
	ctx := context.Background()
	hub, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	inventory, err := versioned.NewForConfig(hub)
	if err != nil {
		return err
	}
	profile, err := inventory.ApisV1alpha1().ClusterProfiles(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	providers, err := access.NewFromFile(providerFile)
	if err != nil {
		return err
	}
	config, err := providers.BuildConfigFromCP(profile)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	namespaces, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, each := range namespaces.Items {
		fmt.Println(each.Name)
	}
	return nil
}
