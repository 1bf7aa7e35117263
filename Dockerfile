# Millrace as an image: the packed package with the Node that comes along, on a slim base. `npm run image` prepares the context and builds it,
# so that the build itself needs no package registry. Another base needs glibc, libstdc++ and a shell.
ARG BASE=debian:bookworm-slim
FROM ${BASE}

# Firewall rules around containers are set with nft, by a server that runs as root. An empty list builds without a network.
ARG PACKAGES="nftables ca-certificates"
RUN if [ -n "$PACKAGES" ]; then \
      apt-get update && apt-get install -y --no-install-recommends $PACKAGES && rm -rf /var/lib/apt/lists/*; \
    fi

COPY package /opt/millrace
COPY --chown=10001:10001 data /var/lib/millrace

ENV PATH=/opt/millrace/node_modules/.bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    HOME=/var/lib/millrace \
    MILLRACE_DATA=/var/lib/millrace \
    MILLRACE_HOST=0.0.0.0 \
    MILLRACE_INSTALLED_AS=image

# All that is written lies here. The root file system may be read-only.
VOLUME /var/lib/millrace
EXPOSE 7420
USER 10001:10001
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.MILLRACE_PORT || 7420}/readyz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["/opt/millrace/node_modules/.bin/millrace"]
CMD ["serve"]
