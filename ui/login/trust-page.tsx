import { ButtonLink } from "../kit/button.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

export type TrustPageProps = PageProps & {
  readonly host: string
  /** The fingerprint of the root certificate, in pairs of digits. */
  readonly fingerprint: string
  readonly downloadHref: string
}

const systems = [
  ["Windows", "trust.windows"],
  ["macOS", "trust.mac"],
  ["iPhone, iPad", "trust.ios"],
  ["Android", "trust.android"],
  ["Linux, Firefox", "trust.linux"],
] as const

/** How to make a device trust a server with its own certificate authority. */
export function TrustPage(props: TrustPageProps) {
  const { t, host, fingerprint, downloadHref } = props
  const title = t("trust.title", { host })
  return (
    <Frame {...props} title={title} wide>
      <Heading title={title} lead={t("trust.lead", { host })} />
      <ButtonLink href={downloadHref} wide>
        {t("trust.download")}
      </ButtonLink>
      <dl className="facts">
        <dt>{t("trust.fingerprint")}</dt>
        <dd>
          <code>{fingerprint}</code>
        </dd>
      </dl>
      <p>{t("trust.compare")}</p>
      <div>
        {systems.map(([name, key]) => (
          <details className="disclosure" key={key}>
            <summary>{name}</summary>
            <p>{t(key)}</p>
          </details>
        ))}
      </div>
    </Frame>
  )
}
