import { Frame, Heading, type PageProps } from "./frame.tsx"

export type ContinuePageProps = PageProps & {
  readonly application: string
  readonly why: "signed_in" | "refused" | "signed_out" | "finished"
  /** Absent where no address leads to the application. */
  readonly href?: string | undefined
  /** Whether the browser opens the address by itself. */
  readonly isAutomatic?: boolean
}

/**
 * Leads to an application. The browser continues by itself, without any script, or the person uses
 * the link, as somebody does who came back here.
 */
export function ContinuePage(props: ContinuePageProps) {
  const { t, application, why, href, isAutomatic = false } = props
  const lead =
    why === "finished" && href === undefined
      ? t("continue.finished_device", { application })
      : t(`continue.${why}`, { application })
  return (
    <Frame {...props} title={t(`continue.${why}_title`)} refreshTo={isAutomatic ? href : undefined}>
      <Heading title={t(`continue.${why}_title`)} lead={lead} />
      {href !== undefined && (
        <p>
          <a href={href}>{t("continue.link", { application })}</a>
        </p>
      )}
    </Frame>
  )
}
