import { Button, ButtonLink } from "../kit/button.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

export type UnapprovedRedirectPageProps = PageProps & {
  readonly application: string
  /** What happened: the application receives a response, or the user signed out. */
  readonly why: "answer" | "signed_out"
  readonly host: string
  /** The redirect URI. */
  readonly href: string
  /** Fields that are posted; absent if the URI contains the response. */
  readonly fields?: Readonly<Record<string, string>> | undefined
}

/**
 * Asks before a redirect to an application that no administrator has approved. Otherwise anyone
 * could use this server's URL as an open redirect (RFC 9700 §4.11.2).
 */
export function UnapprovedRedirectPage(props: UnapprovedRedirectPageProps) {
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
