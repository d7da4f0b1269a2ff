"""Adapts the requests of Schemathesis to rules that OpenAPI cannot express, and checks the events of watches.

The environment contains the names of existing objects, and the metadata of the first page of each list.
"""

import json
import os
import re
from zlib import crc32

import schemathesis
import yaml
from schemathesis.core.failures import AcceptedNegativeData, MalformedJson
from schemathesis.core.transport import Response
from schemathesis.openapi.checks import RejectedPositiveData

CLUSTER = os.environ["OPENAPI_CLUSTER"]
SERVICE_ACCOUNT = {"cluster": CLUSTER, "namespace": "deploy", "name": "deployer"}
# Name of a Secret and of a Pod in the namespace of the service account.
BOUND_OBJECT = os.environ["OPENAPI_BOUND_OBJECT"]
# Metadata of the first page of each list, by operation.
PAGES = json.loads(os.environ["OPENAPI_PAGES"])
# Names of objects that exist, by operation.
OBJECTS = {
    "createToken": SERVICE_ACCOUNT,
    "readCluster": {"name": CLUSTER},
    "listNamespacedManagedToken": {"namespace": "team-a"},
    "readNamespacedManagedToken": {"namespace": "team-a", "name": "ci-deployer"},
}
PROTOBUF_TYPE = "application/vnd.kubernetes.protobuf"
# A TokenRequest with one audience, "api", in the envelope of Kubernetes.
PROTOBUF = b"k8s\x00\x0a\x28\x0a\x18authentication.k8s.io/v1\x12\x0cTokenRequest\x12\x09\x0a\x00\x12\x05\x0a\x03api"
FLAGS = {"watch", "allowWatchBookmarks", "sendInitialEvents"}
MAX_INT64 = 2**63 - 1
MAX_JSON_BYTES = 8 * 1024
MAX_YAML_BYTES = 1024
MAX_FIELD_MANAGER_BYTES = 128


@schemathesis.hook
def before_call(context, case, kwargs):
    operation = operation_of(case)
    if case.meta is not None and case.meta.generation.mode.is_positive:
        case.path_parameters.update(OBJECTS.get(operation, {}))
        if operation == "createToken":
            adapt_token_request(case)
        elif operation in PAGES:
            adapt_list(case.query or {}, PAGES[operation])
        # By default, Schemathesis accepts any format, and receives JSON. Watches support only JSON.
        if not is_watch(case) and crc32(str(case.query).encode()) % 3 == 0:
            case.headers["Accept"] = "application/yaml"
    # kube-apiserver responds with 504 to a version in the future, and with 410 to one that it no longer has.
    if re.fullmatch("0*[1-9][0-9]{0,18}", str((case.query or {}).get("resourceVersion"))):
        case.query["resourceVersion"] = PAGES[operation.replace("read", "list")]["resourceVersion"]
    if is_watch(case):
        limit_watch(case.query)


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Drops failures that are caused by behavior of kube-apiserver that the façade shares."""
    # A stream is not one JSON document; watch_event_conformance checks its lines.
    if isinstance(failure, MalformedJson) and is_watch(case):
        return False
    # kube-apiserver accepts unknown fields unless fieldValidation is Strict.
    if isinstance(failure, RejectedPositiveData) and case.query.get("fieldValidation") == "Strict":
        # YAML folds long texts.
        return "strict decoding error: unknown field" not in " ".join(response.text.split())
    # kube-apiserver reads any text but 0 and false as true.
    return not (isinstance(failure, AcceptedNegativeData) and mutated_parameters(case) <= FLAGS)


@schemathesis.check
def watch_event_conformance(ctx, response, case):
    """Validates every line of a watch."""
    if not is_watch(case) or response.status_code != 200:
        return
    for line in response.content.split(b"\n")[:-1]:
        event = Response(
            status_code=response.status_code,
            headers=response.headers,
            content=line,
            request=response.request,
            elapsed=response.elapsed,
            verify=response.verify,
        )
        assert "type" in json.loads(line)
        case.operation.validate_response(event, case=case)


def operation_of(case):
    return case.operation.definition.raw["operationId"]


def is_watch(case):
    return operation_of(case) in PAGES and is_set(case.query or {}, "watch")


def is_set(query, name):
    """Returns whether a flag is set, as kube-apiserver reads it."""
    return name in query and str(query[name]).lower() not in ("0", "false")


def mutated_parameters(case):
    """Returns the names of the parameters that a negative case violates."""
    data = case.meta.phase.data
    names = {data.parameter} | {mutation.parameter for mutation in data.mutations}
    return names - {None} or {None}


def limit_watch(query):
    """Limits a watch to one second, unless its timeout is invalid, which the façade rejects, or negative, which ends the watch at once."""
    seconds = str(query.get("timeoutSeconds", 0))
    if re.fullmatch("[0-9]+", seconds) and int(seconds) <= MAX_INT64:
        query["timeoutSeconds"] = 1


def adapt_token_request(case):
    manager = (case.query or {}).get("fieldManager")
    if manager:
        # The limit also applies to bytes, and no class of printable characters exists in all dialects of patterns.
        printable = "".join(each for each in manager if each.isprintable())
        case.query["fieldManager"] = printable.encode()[:MAX_FIELD_MANAGER_BYTES].decode(errors="ignore")
    if case.media_type == PROTOBUF_TYPE:
        case.body = PROTOBUF
    elif isinstance(case.body, dict):
        # Without objects that occur twice, for which PyYAML would write aliases.
        case.body = adapt_body(json.loads(json.dumps(case.body)), case.media_type)


def adapt_body(body, media_type):
    """Replaces names that must match the path or exist, and removes ignored fields of bodies that are too large."""
    metadata = body.get("metadata") or {}
    for name, value in {"name": SERVICE_ACCOUNT["name"], "namespace": SERVICE_ACCOUNT["namespace"], "uid": ""}.items():
        if name in metadata:
            metadata[name] = value
    bound = body["spec"].get("boundObjectRef")
    if bound:
        bound.update({"name": BOUND_OBJECT, "uid": ""})
    if is_too_large(body, media_type):
        body = {"spec": {**body["spec"], "audiences": body["spec"]["audiences"][:1]}}
    if is_too_large(body, media_type):
        body = {"spec": {"audiences": ["api"], **({"boundObjectRef": {"kind": bound["kind"], "name": BOUND_OBJECT}} if bound else {})}}
    return body


def is_too_large(body, media_type):
    if media_type == "application/json":
        return len(json.dumps(body)) > MAX_JSON_BYTES
    return len(yaml.safe_dump(body)) > MAX_YAML_BYTES


def adapt_list(query, page):
    """Replaces a continue token, and removes parameters that contradict others."""
    if query.get("continue"):
        query["continue"] = page.get("continue", "")
    if is_set(query, "watch"):
        query.pop("continue", None)
        query.pop("resourceVersionMatch", None)
        if "sendInitialEvents" in query:
            query["resourceVersionMatch"] = "NotOlderThan"
        return
    query.pop("sendInitialEvents", None)
    if query.get("continue"):
        query.pop("resourceVersion", None)
    version = query.get("resourceVersion")
    if not version or (query.get("resourceVersionMatch") == "Exact" and int(version) == 0):
        query.pop("resourceVersionMatch", None)
