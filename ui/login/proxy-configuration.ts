/** The configuration of a reverse proxy. */
export type ProxyConfiguration = { readonly name: string; readonly text: string }

/**
 * Configurations for common proxies that forward the original host. `upstream` is the address where
 * this process listens, as the proxy reaches it.
 */
export const proxyConfigurations = (
  host: string,
  upstream: string,
): readonly ProxyConfiguration[] => [
  { name: "Caddy", text: `${host} {\n  reverse_proxy ${upstream}\n}` },
  { name: "nginx", text: nginx(host, upstream) },
  { name: "Apache", text: apache(host, upstream) },
  { name: "HAProxy", text: haproxy(upstream) },
  { name: "Traefik", text: traefik(host, upstream) },
]

const nginx = (host: string, upstream: string): string => `server {
  server_name ${host};
  location / {
    proxy_pass http://${upstream};
    proxy_set_header Host $host;
    proxy_set_header X-Forwarded-For $remote_addr;
    proxy_set_header X-Forwarded-Proto $scheme;
  }
}`

/** Paths are forwarded unchanged: "nocanon", and encoded slashes. */
const apache = (host: string, upstream: string): string => `<VirtualHost *:443>
  ServerName ${host}
  ProxyPreserveHost On
  AllowEncodedSlashes NoDecode
  ProxyPass / http://${upstream}/ nocanon
  RequestHeader set X-Forwarded-Proto https
</VirtualHost>`

const haproxy = (upstream: string): string => `frontend https
  mode http
  bind :443 ssl crt /etc/haproxy/certs/
  option forwardfor
  http-request set-header X-Forwarded-Proto https
  default_backend latchkey
backend latchkey
  mode http
  server latchkey ${upstream}`

const traefik = (host: string, upstream: string): string => `http:
  routers:
    latchkey:
      rule: Host(\`${host}\`)
      service: latchkey
  services:
    latchkey:
      loadBalancer:
        passHostHeader: true
        servers:
          - url: http://${upstream}`
