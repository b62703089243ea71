import { Button, ButtonLink } from "../kit/button.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

export type StrangerPageProps = PageProps & {
  readonly application: string
  /** What has happened: the application gets an answer, or somebody has signed out. */
  readonly why: "answer" | "signed_out"
  readonly host: string
  /** Where it goes. */
  readonly href: string
  /** What is posted there; absent where the address says all. */
  readonly fields?: Readonly<Record<string, string>> | undefined
}

/**
 * Asks, instead of sending the browser on: the address is a stranger's, and this server's own would
 * lead there for whoever writes a link (RFC 9700 §4.11.2).
 */
export function StrangerPage(props: StrangerPageProps) {
  const { t, application, why, host, href, fields } = props
  const go = t("stranger.go", { host })
  return (
    <Frame {...props} title={t("stranger.title")}>
      <Heading title={t("stranger.title")} lead={t(`stranger.${why}`, { application, host })} />
      <p className="quiet">{t("stranger.todo")}</p>
      {fields ? (
        <form method="post" action={href}>
          {Object.entries(fields).map(([name, value]) => (
            <input type="hidden" key={name} name={name} value={value} />
          ))}
          <Button type="submit" wide>
            {go}
          </Button>
        </form>
      ) : (
        <ButtonLink href={href} wide>
          {go}
        </ButtonLink>
      )}
    </Frame>
  )
}
