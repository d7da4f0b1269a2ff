# Purser on a cluster. The first stage compiles, the second holds what runs and nothing else:
# no compiler, no tests, and not the embedded API server of the local run.

FROM node:24-bookworm-slim AS build
WORKDIR /purser
COPY package.json package-lock.json ./
RUN npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
RUN npm run build \
 && rm -r dist/apiserver dist/dev dist/dev.js \
 && npm prune --omit=dev

FROM node:24-bookworm-slim
WORKDIR /purser
ENV NODE_ENV=production
COPY --from=build /purser/package.json ./
COPY --from=build /purser/node_modules ./node_modules
COPY --from=build /purser/dist ./dist
# No name, no shell, no right to write: the process needs none of them.
USER 65532:65532
# SIGUSR1 must not open a debugger, nor a fatal error write tokens to disk.
CMD ["node", "--disable-sigusr1", "--report-exclude-env", "dist/main.js"]
