import { Frame, Heading, type PageProps } from "./frame.tsx"

/** Shown before setup: explains where to find the setup link on the machine. */
export function SetupLinkPage(props: PageProps) {
  const { t } = props
  return (
    <Frame {...props} title={t("setup_link.title")}>
      <Heading title={t("setup_link.title")} lead={t("setup_link.lead")} />
      <div className="stack">
        <p>{t("setup_link.printed")}</p>
        <p>{t("setup_link.again")}</p>
        <pre className="snippet">
          <code>latchkey setup-link</code>
        </pre>
        <p className="quiet small">{t("setup_link.why")}</p>
      </div>
    </Frame>
  )
}
