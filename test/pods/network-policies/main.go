// Enforces NetworkPolicies with the engine of kube-network-policies. Packets that open a connection arrive in a queue of netfilter, to which
// rules of iptables send them: the rules of kube-network-policies itself need nftables with queues, which not every kernel has.
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	nfqueue "github.com/florianl/go-nfqueue/v2"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/kube-network-policies/pkg/api"
	"sigs.k8s.io/kube-network-policies/pkg/network"
	"sigs.k8s.io/kube-network-policies/pkg/networkpolicy"
	"sigs.k8s.io/kube-network-policies/pkg/podinfo"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "path of the kubeconfig")
	node := flag.String("node", "", "name of the node")
	queue := flag.Uint("queue", 100, "number of the queue")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	engine, err := newEngine(ctx, *kubeconfig, *node)
	if err == nil {
		err = enforce(ctx, engine, uint16(*queue))
	}
	if err != nil {
		log.Fatal(err)
	}
}

// newEngine returns an engine that knows all policies, namespaces and pods.
func newEngine(ctx context.Context, kubeconfig, node string) (*networkpolicy.PolicyEngine, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	namespaces, pods := factory.Core().V1().Namespaces(), factory.Core().V1().Pods()
	policies := networkpolicy.NewStandardNetworkPolicy(node, namespaces, pods, factory.Networking().V1().NetworkPolicies())
	addresses, err := podinfo.NewInformerResolver(pods.Informer())
	if err != nil {
		return nil, err
	}
	provider := podinfo.NewInformerProvider(pods, namespaces, nil, []podinfo.IPResolver{addresses})
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return networkpolicy.NewPolicyEngine(provider, []api.PolicyEvaluator{policies}), nil
}

// enforce accepts or drops each packet of the queue until the context ends.
func enforce(ctx context.Context, engine *networkpolicy.PolicyEngine, number uint16) error {
	queue, err := nfqueue.Open(&nfqueue.Config{
		NfQueue:      number,
		MaxPacketLen: 128,
		MaxQueueLen:  1024,
		Copymode:     nfqueue.NfQnlCopyPacket,
		WriteTimeout: time.Second,
	})
	if err != nil {
		return err
	}
	defer queue.Close()
	decide := func(attribute nfqueue.Attribute) int {
		verdict := nfqueue.NfDrop
		packet, err := network.ParsePacket(*attribute.Payload)
		if err == nil {
			var isAllowed bool
			if isAllowed, err = engine.EvaluatePacket(ctx, &packet); isAllowed {
				verdict = nfqueue.NfAccept
			} else {
				log.Printf("dropped %s", packet)
			}
		}
		if err != nil {
			log.Printf("dropped a packet: %v", err)
		}
		if err := queue.SetVerdict(*attribute.PacketID, verdict); err != nil {
			log.Printf("no verdict: %v", err)
		}
		return 0
	}
	ignore := func(err error) int {
		log.Printf("queue: %v", err)
		return 0
	}
	if err := queue.RegisterWithErrorFunc(ctx, decide, ignore); err != nil {
		return err
	}
	log.Print("ready")
	<-ctx.Done()
	return nil
}
