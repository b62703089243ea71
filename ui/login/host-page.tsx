import { Frame, Heading, type PageProps } from "./frame.tsx"
import { proxyConfigurations } from "./proxy-configuration.ts"
import { Snippet } from "./snippet.tsx"

export type HostPageProps = PageProps & {
  /** The host name in the request. */
  readonly received: string
  /** The configured public URL, such as https://id.example.org */
  readonly expected: string
  /** The address where this process listens, as a proxy would reach it. */
  readonly upstream: string
  /** X-Forwarded-Host as received, if any. */
  readonly forwardedHost?: string | undefined
  /** Whether the sender is a trusted proxy. */
  readonly trustedProxy: boolean
}

/**
 * For an unknown host: the received and expected values, and the proxy configuration that corrects
 * them.
 */
export function HostPage(props: HostPageProps) {
  const { t, received, expected, upstream, forwardedHost, trustedProxy } = props
  const host = new URL(expected).host
  return (
    <Frame {...props} title={t("host.title")} wide>
      <Heading title={t("host.title")} lead={t("host.lead")} />
      <dl className="facts">
        <dt>{t("host.received")}</dt>
        <dd>
          <code>{received}</code>
        </dd>
        {forwardedHost && (
          <>
            <dt>X-Forwarded-Host</dt>
            <dd>
              <code>{forwardedHost}</code>{" "}
              <span className="quiet">
                {t(trustedProxy ? "host.proxy_trusted" : "host.proxy_not_trusted")}
              </span>
            </dd>
          </>
        )}
        <dt>{t("host.expected")}</dt>
        <dd>
          <code>{host}</code>
        </dd>
      </dl>
      <p>
        {t("host.direct")} <a href={expected}>{expected}</a>
      </p>
      <section className="stack">
        <p>{t("host.proxy")}</p>
        <div>
          {proxyConfigurations(host, upstream).map(({ name, text }, at) => (
            <Snippet key={name} name={name} text={text} open={at === 0} />
          ))}
        </div>
      </section>
    </Frame>
  )
}
