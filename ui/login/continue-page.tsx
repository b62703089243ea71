import { Frame, Heading, type PageProps } from "./frame.tsx"

export type ContinuePageProps = PageProps & {
  readonly application: string
  readonly reason: "signed_in" | "refused" | "signed_out" | "finished"
  /** Absent if the application has no URL. */
  readonly href?: string | undefined
  /** Whether the browser opens the URL automatically. */
  readonly isAutomatic?: boolean
}

/**
 * Links to an application. The browser continues automatically, without a script; users who came
 * back use the link.
 */
export function ContinuePage(props: ContinuePageProps) {
  const { t, application, reason, href, isAutomatic = false } = props
  const lead =
    reason === "finished" && href === undefined
      ? t("continue.finished_device", { application })
      : t(`continue.${reason}`, { application })
  return (
    <Frame
      {...props}
      title={t(`continue.${reason}_title`)}
      refreshTo={isAutomatic ? href : undefined}
    >
      <Heading title={t(`continue.${reason}_title`)} lead={lead} />
      {href !== undefined && (
        <p>
          <a href={href}>{t("continue.link", { application })}</a>
        </p>
      )}
    </Frame>
  )
}
