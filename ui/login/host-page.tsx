import { Frame, Heading, type PageProps } from "./frame.tsx"
import { proxyLines } from "./proxy-lines.ts"
import { Snippet } from "./snippet.tsx"

export type HostPageProps = PageProps & {
  /** The host name the request named. */
  readonly received: string
  /** The configured public address, e.g. https://id.example.org */
  readonly expected: string
  /** Where this process listens, as a proxy would reach it. */
  readonly upstream: string
  /** X-Forwarded-Host as received, if any. */
  readonly forwardedHost?: string | undefined
  /** Whether the peer is one of the proxies whose headers count. */
  readonly trustedProxy: boolean
}

/** An unknown host: what was received, what was expected, and the lines that mend the proxy. */
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
          {proxyLines(host, upstream).map(({ name, text }, at) => (
            <Snippet key={name} name={name} text={text} open={at === 0} />
          ))}
        </div>
      </section>
    </Frame>
  )
}
