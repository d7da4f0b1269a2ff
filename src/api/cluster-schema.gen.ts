// Generated from crds/ by `npm run generate`; do not edit. Descriptions and constraints of the façade's OpenAPI document, and columns of its tables.

/** Schema of Cluster. */
export const ClusterSchema = {
  "type": "object",
  "description": "Cluster registers a Kubernetes cluster with Purser: the addresses of its API server, and a reference to the credential that Purser uses there. Purser probes the cluster, reports its health in the status, and issues tokens for its service accounts. ManagedTokens, callers of Purser's HTTP façade and RBAC rules refer to the cluster by the name of this object.",
  "required": [
    "spec"
  ],
  "properties": {
    "apiVersion": {
      "type": "string",
      "description": "Version of this schema: registry.purser.dev/v1alpha1."
    },
    "kind": {
      "type": "string",
      "description": "Kind of this object: Cluster."
    },
    "metadata": {
      "type": "object"
    },
    "spec": {
      "type": "object",
      "description": "Addresses and certificate authorities of the cluster, references to credentials for the cluster, and settings for the renewal of Purser's credential.",
      "required": [
        "orchestratorApiEndpoints"
      ],
      "properties": {
        "orchestratorApiEndpoints": {
          "type": "object",
          "description": "Addresses of the cluster's API server, and the certificate authorities (CAs) that sign its certificate. Callers of Purser's HTTP façade who may see the Cluster can read this field. A change applies to the next request; existing tokens are not reissued. If authInfo.controller refers to a Secret, Purser uses the Cluster only if that Secret lists every address and every CA certificate.",
          "required": [
            "serverEndpoints"
          ],
          "properties": {
            "caBundle": {
              "type": "string",
              "description": "PEM certificates of the CAs that sign the API server's certificate, encoded in base64. If this field is absent, Purser trusts only the public root certificates bundled with Node.js; list a private CA here. TLS is always verified. After a change, Purser updates the Secrets of ManagedTokens without issuing new tokens.",
              "maxLength": 524288,
              "pattern": "^[A-Za-z0-9+/\n]+={0,2}\n*$"
            },
            "serverEndpoints": {
              "type": "array",
              "description": "Addresses of the API server, by client network. A client uses the address whose clientCIDR contains the client's own address; if several match, the longest prefix wins. If an address does not respond, Purser tries the others; addresses with the same clientCIDR are tried in the listed order.",
              "minItems": 1,
              "maxItems": 16,
              "items": {
                "type": "object",
                "required": [
                  "clientCIDR",
                  "serverAddress"
                ],
                "properties": {
                  "clientCIDR": {
                    "type": "string",
                    "description": "IP range of the clients that use this address, in CIDR notation, such as 10.0.0.0/8 or 2001:db8::/32. 0.0.0.0/0 matches all IPv4 clients, and ::/0 all IPv6 clients.",
                    "maxLength": 49,
                    "pattern": "^((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])[.]){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])/(3[0-2]|[12]?[0-9])$|^[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:.]+/(12[0-8]|1[01][0-9]|[1-9]?[0-9])$"
                  },
                  "serverAddress": {
                    "type": "string",
                    "description": "Address of the API server for clients in clientCIDR: an https URL such as https://prod-eu.example.com:6443, with a path if the cluster is behind a proxy, or a host with an optional port, without https://. The default port is 443.",
                    "maxLength": 512,
                    "pattern": "^(https://)?(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?)(:[1-9][0-9]{0,4})?(/[-A-Za-z0-9_~][-A-Za-z0-9._~]*)*/?$"
                  }
                }
              }
            }
          }
        },
        "authInfo": {
          "type": "object",
          "description": "References to credentials for the cluster. A Cluster never contains a credential, and the cluster list of Purser's façade omits the references.",
          "properties": {
            "controller": {
              "type": "object",
              "description": "Credential that Purser uses. Without this field, the façade lists the Cluster, but Purser does not probe it and issues no tokens for it. A change applies to the next request. If the kind changes, or if the Cluster refers to another Secret, Purser also replaces the tokens of ManagedTokens for the Cluster.",
              "required": [
                "kind",
                "name",
                "namespace"
              ],
              "properties": {
                "kind": {
                  "type": "string",
                  "description": "Kind of the credential. Secret: the keys of the Secret contain the credential (token, or tls.crt and tls.key) or, for a cluster that trusts tokens issued by the hub, the name of a service account on the hub (serviceAccount). Three more keys are required, and limit the use of the credential: addresses (server), CAs (ca.crt: PEM certificates, or the word system for public CAs) and names of Clusters (cluster). Optional keys contain the namespaces of the service accounts that tokens are issued for (namespaces), and the URL of a proxy for all connections to the cluster (proxy). ServiceAccount: the cluster is the hub. Purser accepts this kind only for the Cluster that the --hub-cluster option names. For this Cluster, Purser uses its own connection to the hub, and never connects to the addresses in serverEndpoints.",
                  "enum": [
                    "Secret",
                    "ServiceAccount"
                  ]
                },
                "name": {
                  "type": "string",
                  "description": "Name of the Secret, or of Purser's own service account.",
                  "maxLength": 253,
                  "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
                },
                "namespace": {
                  "type": "string",
                  "description": "Namespace of the Secret or service account. Purser reads credentials only from the namespaces in the --credential-namespaces option: by default, only from its own namespace.",
                  "maxLength": 63,
                  "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
                }
              }
            },
            "user": {
              "type": "object",
              "description": "Hint for users about access to the cluster, such as a group to join. Purser does not use this field.",
              "required": [
                "kind",
                "name"
              ],
              "properties": {
                "kind": {
                  "type": "string",
                  "description": "Kind of the referenced object, such as Secret, ServiceAccount, User or Group.",
                  "minLength": 1,
                  "maxLength": 63
                },
                "name": {
                  "type": "string",
                  "description": "Name of the referenced object.",
                  "minLength": 1,
                  "maxLength": 253
                },
                "namespace": {
                  "type": "string",
                  "description": "Namespace of the referenced object, if it has one.",
                  "maxLength": 63
                }
              }
            }
          }
        },
        "credential": {
          "type": "object",
          "description": "Renewal of Purser's own credential for the cluster. If the credential is a token for a service account, Purser renews it and writes the new token into a second Secret. The name of the second Secret is that of the Secret in authInfo.controller with the suffix -renewed. Purser never changes the Secret in authInfo.controller. Purser immediately replaces a token that you supply; it renews its own tokens when an eighth to a half of their granted lifetime has passed. If several Clusters refer to one Secret, the shortest lifetime and the longest overlap apply, and Purser does not renew the credential if one of these Clusters sets renewal to Manual. To renew the token immediately, set the registry.purser.dev/renew-credential annotation on the Secret in authInfo.controller to a new value; to also revoke all earlier tokens that are bound to an anchor (see overlap), set registry.purser.dev/revoke-credential. Each value takes effect once.",
          "properties": {
            "renewal": {
              "type": "string",
              "description": "Auto: Purser renews the credential if it is a token for a service account. Manual: Purser does not renew the credential. If Purser has renewed it before, Purser switches back to the credential in the Secret in authInfo.controller, once the cluster accepts that credential. Write a new credential into that Secret before the old one expires. Purser never renews client certificates, or tokens of users that are not service accounts.",
              "default": "Auto",
              "enum": [
                "Auto",
                "Manual"
              ]
            },
            "lifetime": {
              "type": "string",
              "description": "Lifetime that Purser requests for renewed tokens, from 10m to 720h. The cluster may grant a different lifetime, which then determines the time of the next renewal. The --max-token-lifetime option does not apply to these tokens.",
              "default": "168h",
              "maxLength": 32
            },
            "overlap": {
              "type": "string",
              "description": "Time for which the replaced token stays valid after a renewal, from 0s to 24h, so that all replicas of Purser receive the new token. The actual overlap is at most half of the granted lifetime, but never less than the interval in the --probe-interval option. After the overlap, Purser revokes the replaced token by deleting its anchor: the Secret that the token is bound to, on the cluster. A token without an anchor, such as one that you supply, stays valid until it expires.",
              "default": "1m",
              "maxLength": 32
            }
          }
        }
      }
    },
    "status": {
      "type": "object",
      "description": "Observed state of the cluster, reported by Purser.",
      "properties": {
        "type": {
          "type": "string",
          "description": "Distribution of the cluster, derived from its version, such as Kubernetes, K3s, EKS, GKE, AKS or OpenShift.",
          "maxLength": 63
        },
        "version": {
          "type": "string",
          "description": "Version reported by the cluster's API server (gitVersion), such as v1.36.4.",
          "maxLength": 256
        },
        "apiAudiences": {
          "type": "array",
          "description": "Audiences that the cluster's API server accepts: those of the token that Purser uses on the cluster or, if the cluster trusts tokens issued by the hub, those that the API server returns in a TokenReview. Absent for the hub, and if the audiences are unknown, for example because Purser uses a client certificate. By default, ManagedTokens and the purser command-line tool request tokens for these audiences.",
          "maxItems": 16,
          "items": {
            "type": "string",
            "minLength": 1,
            "maxLength": 256
          }
        },
        "activeEndpoint": {
          "type": "string",
          "description": "Address at which the last successful probe reached the cluster's API server, one of spec.orchestratorApiEndpoints.serverEndpoints. If this address stops responding, Purser switches to another one. The cluster list of the façade omits this field.",
          "maxLength": 512
        },
        "lastProbeTime": {
          "type": "string",
          "format": "date-time",
          "description": "Time of the last probe before the status was written. Purser probes the cluster more often than it writes the status."
        },
        "probeLatencyMilliseconds": {
          "type": "integer",
          "format": "int64",
          "description": "Duration of the last /readyz request before the status was written, in milliseconds; absent if the request failed for any reason other than NotReady. The cluster list of the façade omits this field.",
          "minimum": 0
        },
        "credentialExpirationTime": {
          "type": "string",
          "format": "date-time",
          "description": "Expiry of the credential that Purser uses; absent if the credential does not expire, if its expiry is unknown, for the hub, and for a cluster that trusts tokens issued by the hub. The cluster list of the façade omits this field."
        },
        "credentialRenewalTime": {
          "type": "string",
          "format": "date-time",
          "description": "Time of the next renewal of Purser's credential; absent for a credential that Purser does not renew, and for a supplied token, which Purser replaces immediately. The cluster list of the façade omits this field."
        },
        "conditions": {
          "type": "array",
          "description": "Health of the cluster. Ready: tokens can be issued for the cluster. Reachable: the cluster's API server responds. Authorized: the cluster accepts Purser's credential and permits it to issue tokens. CredentialFresh: Purser's credential does not expire soon, its last renewal did not fail, and the cluster has not rejected it (if it is stored). Treat a condition as Unknown when its lastHeartbeatTime is older than three heartbeat periods. A period is 5 minutes; with more than 1,020 Clusters, it is the number of Clusters divided by 3.4, in seconds.",
          "maxItems": 16,
          "items": {
            "type": "object",
            "required": [
              "type",
              "status"
            ],
            "properties": {
              "type": {
                "type": "string",
                "description": "Type of the condition.",
                "minLength": 1,
                "maxLength": 316
              },
              "status": {
                "type": "string",
                "description": "Status of the condition. Unknown means that Purser could not determine it.",
                "enum": [
                  "True",
                  "False",
                  "Unknown"
                ]
              },
              "reason": {
                "type": "string",
                "description": "Reason for the status, as one word in CamelCase.",
                "maxLength": 1024
              },
              "message": {
                "type": "string",
                "description": "Human-readable explanation of the status.",
                "maxLength": 32768
              },
              "lastHeartbeatTime": {
                "type": "string",
                "format": "date-time",
                "description": "Time of the last update of the condition, whether or not the status changed."
              },
              "lastTransitionTime": {
                "type": "string",
                "format": "date-time",
                "description": "Last time the condition transitioned from one status to another."
              }
            }
          }
        }
      }
    }
  }
} as const;

/** Columns of Cluster. */
export const ClusterColumns = [
  {
    "name": "Ready",
    "type": "string",
    "description": "Status of the Ready condition: tokens can be issued for the cluster.",
    "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"
  },
  {
    "name": "Reason",
    "type": "string",
    "description": "Reason for the Ready condition.",
    "jsonPath": ".status.conditions[?(@.type==\"Ready\")].reason"
  },
  {
    "name": "Version",
    "type": "string",
    "description": "Version reported by the cluster's API server.",
    "jsonPath": ".status.version"
  },
  {
    "name": "Type",
    "type": "string",
    "description": "Distribution of the cluster.",
    "jsonPath": ".status.type"
  },
  {
    "name": "Reachable",
    "type": "string",
    "description": "Status of the Reachable condition: the cluster's API server responds.",
    "jsonPath": ".status.conditions[?(@.type==\"Reachable\")].status",
    "priority": 1
  },
  {
    "name": "Authorized",
    "type": "string",
    "description": "Status of the Authorized condition: the cluster accepts Purser's credential and permits it to issue tokens.",
    "jsonPath": ".status.conditions[?(@.type==\"Authorized\")].status",
    "priority": 1
  },
  {
    "name": "Credential Fresh",
    "type": "string",
    "description": "Status of the CredentialFresh condition: Purser's credential does not expire soon, its last renewal did not fail, and the cluster has not rejected it (if it is stored).",
    "jsonPath": ".status.conditions[?(@.type==\"CredentialFresh\")].status",
    "priority": 1
  },
  {
    "name": "Endpoint",
    "type": "string",
    "description": "Address at which the last successful probe reached the cluster's API server.",
    "jsonPath": ".status.activeEndpoint",
    "priority": 1
  },
  {
    "name": "Last Probe",
    "type": "date",
    "description": "Time since the last probe before the status was written. Purser writes the status when it changes, and otherwise about every 5 minutes, or less often with more than 1,020 Clusters.",
    "jsonPath": ".status.lastProbeTime"
  },
  {
    "name": "Heartbeat",
    "type": "date",
    "description": "Time since Purser last wrote the status. Even if nothing changes, Purser writes the status about every 5 minutes, or less often with more than 1,020 Clusters.",
    "jsonPath": ".status.conditions[?(@.type==\"Ready\")].lastHeartbeatTime",
    "priority": 1
  },
  {
    "name": "Age",
    "type": "date",
    "description": "Time since the Cluster was created.",
    "jsonPath": ".metadata.creationTimestamp"
  }
] as const;
