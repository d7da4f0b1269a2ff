// Generated from crds/ by `npm run generate`; do not edit. Descriptions and constraints of the façade's OpenAPI document, and columns of its tables.

/** Schema of ManagedToken. */
export const ManagedTokenSchema = {
  "type": "object",
  "description": "ManagedToken declares that a workload needs a token for a service account on a registered cluster. Purser issues the token through the TokenRequest API of that cluster, stores it in a Secret in the namespace of the ManagedToken, renews it before the granted expiry, and removes it when the requester loses the permission to issue it. A new value of the tokens.purser.dev/rotate annotation requests a new token. With revocation BoundSecret, a new value of the tokens.purser.dev/revoke annotation revokes the current token. Each value takes effect once.",
  "required": [
    "spec"
  ],
  "properties": {
    "apiVersion": {
      "type": "string",
      "description": "Version of this schema: tokens.purser.dev/v1alpha1."
    },
    "kind": {
      "type": "string",
      "description": "Kind of this object: ManagedToken."
    },
    "metadata": {
      "type": "object"
    },
    "spec": {
      "type": "object",
      "description": "Token to issue, its rotation, and the Secret that stores it.",
      "required": [
        "clusterName",
        "serviceAccount"
      ],
      "properties": {
        "clusterName": {
          "type": "string",
          "description": "Name of the Cluster that the token is for. After a change, Purser removes the old token and issues one for the new cluster.",
          "maxLength": 253,
          "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
        },
        "serviceAccount": {
          "type": "object",
          "description": "Service account that the token authenticates as, on the target cluster. It must exist. After a change, Purser removes the old token and issues one for the new service account.",
          "required": [
            "namespace",
            "name"
          ],
          "properties": {
            "namespace": {
              "type": "string",
              "description": "Namespace of the service account on the target cluster.",
              "maxLength": 63,
              "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
            },
            "name": {
              "type": "string",
              "description": "Name of the service account on the target cluster.",
              "maxLength": 253,
              "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
            }
          }
        },
        "audiences": {
          "type": "array",
          "description": "Intended recipients of the token. If omitted, Purser requests the audiences in status.apiAudiences of the Cluster or, while these are unknown, the default audiences of the cluster's API server. The Kubeconfig and ArgoCD outputs, and items of spec.secret.keys with the source Kubeconfig, require a token that the API server accepts. For them, omit this field, or include one of the API server's audiences. A recipient accepts a token only if its own identifier is among the audiences. A token for several audiences is valid at each of them, and each recipient could use it at the others. List several audiences only if they trust one another; otherwise create one ManagedToken for each. After a change, Purser removes the old token and issues a new one.",
          "minItems": 1,
          "maxItems": 16,
          "items": {
            "type": "string",
            "minLength": 1,
            "maxLength": 256,
            "pattern": "^[^ \t\r\n]*$"
          }
        },
        "expirationSeconds": {
          "type": "integer",
          "format": "int64",
          "description": "Requested lifetime of the token, in seconds: from 600 (10 minutes) to 4294967296. The default is 3600. Purser shortens a lifetime above the --max-token-lifetime option (24h by default), and the cluster may grant another lifetime; status.expirationTimestamp shows the granted expiry, which determines the next renewal. A change applies to the next rotation.",
          "default": 3600,
          "minimum": 600,
          "maximum": 4294967296
        },
        "boundObjectRef": {
          "type": "object",
          "description": "Pod or Secret that the token is bound to, in the namespace of the service account on the target cluster. The token becomes invalid when the object is deleted. After a change, Purser removes the old token and issues a new one. This field cannot be combined with revocation BoundSecret, which binds the token to a Secret that Purser creates.",
          "required": [
            "kind",
            "name"
          ],
          "properties": {
            "apiVersion": {
              "type": "string",
              "description": "API version of the object: v1.",
              "default": "v1",
              "enum": [
                "v1"
              ]
            },
            "kind": {
              "type": "string",
              "description": "Kind of the object: Pod or Secret.",
              "enum": [
                "Pod",
                "Secret"
              ]
            },
            "name": {
              "type": "string",
              "description": "Name of the object, in the namespace of the service account.",
              "maxLength": 253,
              "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
            },
            "uid": {
              "type": "string",
              "description": "UID of the object. If set, Purser issues no token for another object of the same name.",
              "minLength": 1,
              "maxLength": 128
            }
          }
        },
        "requesterServiceAccountName": {
          "type": "string",
          "description": "Name of the service account that requests the token. It is on the hub, in the namespace of the ManagedToken. RBAC must grant this service account the verb issue on clusters/token in the API group registry.purser.dev, for the resource name <cluster>, <cluster>/<namespace> or <cluster>/<namespace>/<serviceaccount>. For a Cluster with the label registry.purser.dev/set, set:<set> can replace <cluster>. A namespace in the --protected-namespaces option, such as kube-system, is covered only by a resource name that includes the namespace, or by a rule without resource names. Purser checks the permission at every issuance, and removes the Secret when the permission is withdrawn.",
          "default": "default",
          "maxLength": 253,
          "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
        },
        "rotation": {
          "type": "object",
          "description": "Schedule of renewals. After a change, Purser issues a token only if the new schedule requires it.",
          "default": {},
          "properties": {
            "renewBefore": {
              "type": "string",
              "description": "Time before expiry at which Purser renews the token: a percentage of the granted lifetime, from 1% to 90%, or a duration such as 15m or 1h30m. Renewal starts up to 5% of the lifetime earlier, so that tokens issued together are not renewed together, but never within the first tenth of the lifetime.",
              "default": "20%",
              "maxLength": 32
            },
            "suspend": {
              "type": "boolean",
              "description": "Suspends rotation if true. Purser then issues no token and does not repair the Secret. It still removes the token when the token expires or is revoked, when the requester loses permission, or when the cluster, service account, audiences, boundObjectRef or revocation in the spec changes.",
              "default": false
            }
          }
        },
        "secret": {
          "type": "object",
          "description": "Secret that holds the token. It has the type Opaque, is owned by the ManagedToken, and is deleted with it. Purser never overwrites a Secret that the ManagedToken does not own. After a change to this field, Purser rewrites the Secret without issuing a token.",
          "default": {},
          "properties": {
            "name": {
              "type": "string",
              "description": "Name of the Secret. The default is the name of the ManagedToken. After a change, Purser writes the new Secret before it deletes the old one.",
              "maxLength": 253,
              "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
            },
            "labels": {
              "type": "object",
              "description": "Labels of the Secret. Names under kubernetes.io, k8s.io, argocd.argoproj.io and purser.dev are reserved.",
              "maxProperties": 32,
              "additionalProperties": {
                "type": "string",
                "maxLength": 63,
                "pattern": "^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$"
              }
            },
            "annotations": {
              "type": "object",
              "description": "Annotations of the Secret. Names under kubernetes.io, k8s.io, argocd.argoproj.io and purser.dev are reserved.",
              "maxProperties": 16,
              "additionalProperties": {
                "type": "string",
                "maxLength": 1024
              }
            },
            "outputs": {
              "type": "array",
              "description": "Formats of the Secret, in any combination. Every format has the key token. Token adds server, namespace and, unless the cluster uses public CAs, ca.crt. Kubeconfig adds kubeconfig and, for Flux and Cluster API, value. ArgoCD adds name, server and config, the settings in spec.secret.argocd, and the label by which Argo CD recognizes a cluster; create a ManagedToken with this output in the namespace of Argo CD.",
              "default": [
                "Token"
              ],
              "minItems": 1,
              "maxItems": 3,
              "items": {
                "type": "string",
                "enum": [
                  "Token",
                  "Kubeconfig",
                  "ArgoCD"
                ]
              }
            },
            "server": {
              "type": "string",
              "description": "Address of the cluster to write into the Secret, one of the Cluster's serverAddress values. The default is the address for the network that Purser runs in. For the hub (authInfo.controller of kind ServiceAccount), omit this field: Purser writes the address at which it reaches the hub, and rejects any other.",
              "maxLength": 512,
              "pattern": "^(https://)?(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?)(:[1-9][0-9]{0,4})?(/[-A-Za-z0-9_~][-A-Za-z0-9._~]*)*/?$"
            },
            "keys": {
              "type": "array",
              "description": "Additional keys of the Secret, for consumers that do not read the keys of the outputs. When Purser removes the token from the Secret, it also removes these keys. Only a key that some output format uses for a value without the token, such as server, stays in the Secret, even if the ManagedToken does not have that output.",
              "maxItems": 16,
              "items": {
                "type": "object",
                "required": [
                  "key",
                  "from"
                ],
                "properties": {
                  "key": {
                    "type": "string",
                    "description": "Key in the Secret.",
                    "minLength": 1,
                    "maxLength": 253
                  },
                  "from": {
                    "type": "string",
                    "description": "Value of the key. Token: the token. CA: certificates of the cluster's CAs, as PEM; the key is absent if the cluster uses public CAs. Server: URL of the API server. Namespace: namespace of the service account. ClusterName: name of the Cluster. ExpiresAt: expiry of the token, as an RFC 3339 timestamp. Kubeconfig: kubeconfig that contains the token.",
                    "enum": [
                      "Token",
                      "CA",
                      "Server",
                      "Namespace",
                      "ClusterName",
                      "ExpiresAt",
                      "Kubeconfig"
                    ]
                  }
                }
              }
            },
            "argocd": {
              "type": "object",
              "description": "Settings of the cluster in Argo CD. Requires the ArgoCD output. The fields have the same meaning as the keys in Argo CD's cluster Secrets, except labelsFromCluster, which is specific to Purser.",
              "properties": {
                "project": {
                  "type": "string",
                  "description": "Name of the AppProject that the cluster is scoped to. Without this field, the cluster is not scoped.",
                  "maxLength": 253,
                  "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
                },
                "namespaces": {
                  "type": "array",
                  "description": "Namespaces of the cluster that Argo CD manages. If set, Argo CD needs permissions only in these namespaces. Without this field, Argo CD manages all namespaces.",
                  "minItems": 1,
                  "maxItems": 64,
                  "items": {
                    "type": "string",
                    "maxLength": 63,
                    "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
                  }
                },
                "clusterResources": {
                  "type": "boolean",
                  "description": "If true, Argo CD manages cluster-scoped resources even if the namespaces field restricts it to some namespaces. Without the namespaces field, Argo CD always manages them. The default is false."
                },
                "shard": {
                  "type": "integer",
                  "format": "int32",
                  "description": "Number of the shard (the replica of Argo CD's application controller) that manages the cluster. Without this field, Argo CD assigns a shard.",
                  "minimum": 0,
                  "maximum": 2147483647
                },
                "labelsFromCluster": {
                  "type": "array",
                  "description": "Keys of the labels that Purser copies from the Cluster to the Secret, so that ApplicationSet generators can select clusters by label. Purser omits labels that the Cluster does not have. Labels in spec.secret.labels take precedence. Names under kubernetes.io, k8s.io, argocd.argoproj.io and purser.dev are reserved.",
                  "maxItems": 16,
                  "items": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 317,
                    "pattern": "^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"
                  }
                }
              }
            }
          }
        },
        "revocation": {
          "type": "string",
          "description": "Method for revoking the token before it expires. None: Purser cannot revoke the token; deleting the ManagedToken and the Secret does not invalidate it. BoundSecret: Purser creates a small Secret in the namespace of the service account on the target cluster and binds every token to that Secret. Deleting the ManagedToken, or setting a new value of the tokens.purser.dev/revoke annotation, then invalidates the token within seconds if the cluster responds. After a change to this field, Purser removes the old token and issues a new one.",
          "default": "None",
          "enum": [
            "None",
            "BoundSecret"
          ]
        }
      }
    },
    "status": {
      "type": "object",
      "description": "Observed state of the token, reported by Purser.",
      "properties": {
        "observedGeneration": {
          "type": "integer",
          "format": "int64",
          "description": "Value of metadata.generation that this status describes.",
          "minimum": 0,
          "maximum": 9007199254740991
        },
        "conditions": {
          "type": "array",
          "description": "Conditions of the token. Ready: the Secret holds a valid token for this spec. RotationFailing: Purser cannot renew the token or update its Secret, or the token has expired; until the token expires, Ready stays True.",
          "maxItems": 16,
          "items": {
            "type": "object",
            "required": [
              "type",
              "status",
              "lastTransitionTime",
              "reason",
              "message"
            ],
            "properties": {
              "type": {
                "type": "string",
                "description": "Type of the condition: Ready or RotationFailing.",
                "minLength": 1,
                "maxLength": 316
              },
              "status": {
                "type": "string",
                "description": "Status of the condition.",
                "enum": [
                  "True",
                  "False",
                  "Unknown"
                ]
              },
              "observedGeneration": {
                "type": "integer",
                "format": "int64",
                "description": "Value of metadata.generation that the condition was set for.",
                "minimum": 0,
                "maximum": 9007199254740991
              },
              "lastTransitionTime": {
                "type": "string",
                "format": "date-time",
                "description": "Last time the condition transitioned from one status to another."
              },
              "reason": {
                "type": "string",
                "description": "Reason for the status, as one word in CamelCase.",
                "minLength": 1,
                "maxLength": 1024
              },
              "message": {
                "type": "string",
                "description": "Human-readable explanation of the status.",
                "maxLength": 32768
              }
            }
          }
        },
        "secretName": {
          "type": "string",
          "description": "Name of the Secret that holds the token.",
          "maxLength": 253
        },
        "serviceAccountUID": {
          "type": "string",
          "description": "UID of the service account that the token was issued for.",
          "maxLength": 128
        },
        "issuedAt": {
          "type": "string",
          "format": "date-time",
          "description": "Time at which Purser requested the token, by Purser's clock."
        },
        "expirationTimestamp": {
          "type": "string",
          "format": "date-time",
          "description": "Expiry of the token, by Purser's clock: issuedAt plus the lifetime that the cluster granted."
        },
        "nextRotationTime": {
          "type": "string",
          "format": "date-time",
          "description": "Time of the next renewal; absent if there is no token for this spec, and while rotation is suspended."
        },
        "credentialID": {
          "type": "string",
          "description": "Identifier of the token: its jti claim; absent if the token has none. The audit log of the target cluster contains this ID in the entries for requests made with the token.",
          "maxLength": 1024
        },
        "rotations": {
          "type": "integer",
          "format": "int64",
          "description": "Number of times the token has been rotated.",
          "minimum": 0,
          "maximum": 9007199254740991
        },
        "lastRotateRequest": {
          "type": "string",
          "description": "Value of the tokens.purser.dev/rotate annotation that Purser acted on last.",
          "maxLength": 1024
        },
        "lastRevokeRequest": {
          "type": "string",
          "description": "Value of the tokens.purser.dev/revoke annotation that Purser acted on last.",
          "maxLength": 1024
        },
        "tokenDigest": {
          "type": "string",
          "description": "SHA-256 digest of the last token that Purser issued, its expiry, and the request that it was issued for. Removal limits and revocations identify the token by this digest, because users of the namespace can change the record in the Secret.",
          "maxLength": 128
        },
        "tokenSignature": {
          "type": "string",
          "description": "HMAC-SHA-256 of the UID of the ManagedToken and tokenDigest. The key is in the Secret purser-record-key in Purser's namespace. Purser ignores a tokenDigest without a valid signature.",
          "maxLength": 128
        },
        "secretDigest": {
          "type": "string",
          "description": "SHA-256 digest of the data that Purser last wrote into the Secret together with a token, and of the outputs that the data was rendered from. Purser rewrites a Secret whose data does not match the digest.",
          "maxLength": 128
        },
        "secretRef": {
          "type": "object",
          "description": "The Secret that Purser wrote last. When the permission is withdrawn, Purser deletes this Secret even if users of the namespace have removed its label or owner reference.",
          "required": [
            "name",
            "uid"
          ],
          "properties": {
            "name": {
              "type": "string",
              "description": "Name of the Secret.",
              "maxLength": 253
            },
            "uid": {
              "type": "string",
              "description": "UID of the Secret.",
              "maxLength": 128
            }
          }
        },
        "anchors": {
          "type": "array",
          "description": "Locations on target clusters where Purser may have created an anchor: the Secret that tokens with revocation BoundSecret are bound to. Purser adds a location before it creates the anchor, and removes the location after it has deleted the anchor or stopped trying to delete it.",
          "maxItems": 16,
          "items": {
            "type": "object",
            "required": [
              "cluster",
              "namespace",
              "serviceAccount",
              "clusterUID",
              "credential"
            ],
            "properties": {
              "cluster": {
                "type": "string",
                "description": "Name of the Cluster.",
                "minLength": 1,
                "maxLength": 253
              },
              "namespace": {
                "type": "string",
                "description": "Namespace of the service account on the target cluster.",
                "minLength": 1,
                "maxLength": 63
              },
              "serviceAccount": {
                "type": "string",
                "description": "Name of the service account. Purser deletes the anchor before it replaces this entry with one for another service account in the same namespace.",
                "minLength": 1,
                "maxLength": 253
              },
              "clusterUID": {
                "type": "string",
                "description": "UID of the Cluster when Purser added this entry. If the Cluster has been re-created since, and the anchor is not found on the cluster that the Cluster now refers to, Purser cannot confirm that the anchor was deleted.",
                "maxLength": 128
              },
              "credential": {
                "type": "string",
                "description": "Digest of the namespace, name and UID of the credential Secret; empty for Purser's own service account on the hub. If the Cluster now refers to another credential, and the anchor is not found on the cluster, Purser cannot confirm that the anchor was deleted.",
                "maxLength": 128
              }
            }
          }
        }
      }
    }
  }
} as const;

/** Columns of ManagedToken. */
export const ManagedTokenColumns = [
  {
    "name": "Ready",
    "type": "string",
    "description": "Status of the Ready condition: the Secret holds a valid token.",
    "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"
  },
  {
    "name": "Reason",
    "type": "string",
    "description": "Reason for the Ready condition.",
    "jsonPath": ".status.conditions[?(@.type==\"Ready\")].reason"
  },
  {
    "name": "Failing",
    "type": "string",
    "description": "Status of the RotationFailing condition: Purser cannot renew the token or update its Secret, or the token has expired.",
    "jsonPath": ".status.conditions[?(@.type==\"RotationFailing\")].status"
  },
  {
    "name": "Cluster",
    "type": "string",
    "description": "Name of the Cluster that the token is for.",
    "jsonPath": ".spec.clusterName"
  },
  {
    "name": "Service Account",
    "type": "string",
    "description": "Name of the service account on the target cluster.",
    "jsonPath": ".spec.serviceAccount.name"
  },
  {
    "name": "Expires",
    "type": "string",
    "description": "Expiry of the token, in UTC.",
    "jsonPath": ".status.expirationTimestamp"
  },
  {
    "name": "Next Rotation",
    "type": "string",
    "description": "Time of the next renewal, in UTC.",
    "jsonPath": ".status.nextRotationTime"
  },
  {
    "name": "Rotation Reason",
    "type": "string",
    "description": "Reason for the RotationFailing condition.",
    "jsonPath": ".status.conditions[?(@.type==\"RotationFailing\")].reason",
    "priority": 1
  },
  {
    "name": "Service Account Namespace",
    "type": "string",
    "description": "Namespace of the service account on the target cluster.",
    "jsonPath": ".spec.serviceAccount.namespace",
    "priority": 1
  },
  {
    "name": "Secret",
    "type": "string",
    "description": "Name of the Secret that holds the token.",
    "jsonPath": ".status.secretName",
    "priority": 1
  },
  {
    "name": "Issued",
    "type": "date",
    "description": "Time since the token was issued.",
    "jsonPath": ".status.issuedAt",
    "priority": 1
  },
  {
    "name": "Rotations",
    "type": "integer",
    "description": "Number of times the token has been rotated.",
    "jsonPath": ".status.rotations",
    "priority": 1
  },
  {
    "name": "Suspended",
    "type": "boolean",
    "description": "True if rotation is suspended.",
    "jsonPath": ".spec.rotation.suspend",
    "priority": 1
  },
  {
    "name": "Age",
    "type": "date",
    "description": "Time since the ManagedToken was created.",
    "jsonPath": ".metadata.creationTimestamp"
  }
] as const;
