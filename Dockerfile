# Image of Purser, for any architecture that Node has an image for:
#   docker buildx build --platform linux/amd64,linux/arm64 -t purser:0.1.0 .
# The image contains Node with the libraries that it links to, jemalloc and Purser: no shell, no package manager, no compiler, and not the
# embedded API server. To pin the base image to a digest, use --build-arg NODE_IMAGE=node@sha256:…
ARG NODE_IMAGE=node:24.21.0-bookworm-slim

# Runs on the platform of the builder, because the output is the same for all platforms. The lockfile pins packages by integrity hash, and
# no package runs an install script. The image has one module of client-node, and no packages that only client-node needs.
FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS build
WORKDIR /purser
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
RUN npm run build \
 && mv node_modules/@kubernetes/client-node client-node \
 && npm pkg delete 'dependencies.@kubernetes/client-node' \
 && npm prune --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund \
 && mkdir -p node_modules/@kubernetes/client-node/dist \
 && cp client-node/package.json client-node/LICENSE node_modules/@kubernetes/client-node \
 && cp client-node/dist/config_types.js node_modules/@kubernetes/client-node/dist \
 && rm -rf node_modules/@types node_modules/.package-lock.json node_modules/yaml/browser \
 && (cd node_modules/rxjs && rm -rf src dist/bundles dist/esm dist/esm5) \
 && find node_modules -type d \( -name test -o -name 'bench*' -o -name examples -o -name docs -o -name .github \) -prune -exec rm -rf {} + \
 && find dist node_modules -type f \( -name '*.map' -o -name '*.ts' -o -name '*.[cm]ts' -o -name '*.tsbuildinfo' -o -name '*.md' \) ! -iname 'licen[cs]e*' -delete \
 && find node_modules -type d -empty -delete

# Adds jemalloc, because the malloc of glibc keeps the memory of closed connections and of unused parts of buffers. apt verifies the package
# with the signatures of Debian, and keeps its own files in /runtime.
FROM ${NODE_IMAGE} AS runtime
WORKDIR /runtime
RUN mkdir -p apt/lists/partial apt/archives/partial \
 && echo "Dir::State::Lists \"$PWD/apt/lists\"; Dir::Cache \"$PWD/apt\"; APT::Sandbox::User \"\";" > apt.conf \
 && APT_CONFIG=apt.conf apt-get -qq update \
 && APT_CONFIG=apt.conf apt-get -qq download libjemalloc2 \
 && dpkg-deb --extract libjemalloc2_*.deb jemalloc
RUN mkdir -p root/usr/bin root/usr/lib root/usr/share/doc/libjemalloc2 root/etc \
 && cp jemalloc/usr/lib/*/libjemalloc.so.2 root/usr/lib \
 && cp jemalloc/usr/share/doc/libjemalloc2/copyright root/usr/share/doc/libjemalloc2 \
 && cp "$(command -v node)" root/usr/bin/node \
 && ldd root/usr/bin/node | grep -o '/[^ ]*' | xargs -I {} cp --parents --dereference {} root \
 && echo 'purser:x:65532:65532:purser:/purser:/none' > root/etc/passwd \
 && echo 'hosts: files dns' > root/etc/nsswitch.conf

FROM scratch
COPY --from=runtime /runtime/root /
WORKDIR /purser
COPY --from=build /purser/package.json ./
COPY --from=build /purser/node_modules ./node_modules
COPY --from=build /purser/dist ./dist
COPY crds ./crds
COPY deploy/target ./deploy/target
COPY deploy/components/federation/access.yaml ./deploy/components/federation/access.yaml
COPY deploy/samples/cluster.yaml ./deploy/samples/cluster.yaml
ENV NODE_ENV=production
# jemalloc returns freed pages to the kernel at once. It uses no huge pages, because a sparsely used buffer would occupy a whole huge page.
ENV LD_PRELOAD=/usr/lib/libjemalloc.so.2
ENV MALLOC_CONF=narenas:1,dirty_decay_ms:0,muzzy_decay_ms:0,thp:never
USER 65532:65532
EXPOSE 7444 7445
# Node opens no debugger on SIGUSR1, writes no environment variables to diagnostic reports, and has no __proto__ property, through which
# input could change the prototype of all objects.
# The five memory options are those of `npm start`. By default, the heap of Node grows to several times the size of live objects, small
# garbage collections use several threads, and Node never returns the memory of a peak. The semi-space options are needed because memory
# saver mode makes the space for new objects so small that each token through the façade takes more CPU time.
# Node may read only its own files, files below /var/run/secrets, /etc/hosts, files that you mount below /etc/purser, such as a
# kubeconfig or a certificate, and the files of /proc/self with the metrics of the process, but not /proc/self/root, which contains every
# other file. It may not write files or start programs.
ENTRYPOINT ["/usr/bin/node", "--min-semi-space-size=4", "--max-semi-space-size=4", "--no-parallel-scavenge", "--heap-growing-percent=28", "--memory-saver-mode", "--disable-sigusr1", "--report-exclude-env", "--disable-proto=delete", "--max-http-header-size=16384", "--permission", "--allow-fs-read=/purser/*", "--allow-fs-read=/var/run/secrets/*", "--allow-fs-read=/etc/purser/*", "--allow-fs-read=/etc/hosts", "--allow-fs-read=/proc/self/stat", "--allow-fs-read=/proc/self/status", "--allow-fs-read=/proc/self/limits", "--allow-fs-read=/proc/self/fd", "dist/src/main.js"]
CMD ["run"]
