import type { ReactNode } from "react"
import { Button, ButtonLink } from "../kit/button.tsx"
import { UserSummary } from "../kit/person.tsx"
import type { PageProps } from "./frame.tsx"

/** User data that an application can receive, in the order in which it is listed. */
const dataKinds = [
  ...(["identity", "name", "email", "phone", "address"] as const),
  ...(["roles", "organization", "metadata"] as const),
] as const
/** Permissions that an application can receive, each with its own sentence. */
const permissionKinds = ["manage", "offline"] as const
export const grantables = [...dataKinds, ...permissionKinds] as const
export type Grantable = (typeof grantables)[number]

/** The application that the user signs in to. */
export type Application = {
  readonly name: string
  readonly requestedData: readonly Grantable[]
  /** Whether it has insecure settings that are only for development. */
  readonly isInDevelopment?: boolean
  /** The console: canceling a sign-in there leads nowhere. */
  readonly isConsole?: boolean
  /**
   * The destination of the response, for an application that registered itself; absent for others.
   */
  readonly unapprovedDestination?: Destination | undefined
  /** The host of the client metadata document, for an application that has one. */
  readonly metadataHost?: string | undefined
}

/** A host, a program on the user's own device, or a device with a code. */
export type Destination =
  | { readonly kind: "web"; readonly host: string }
  | { readonly kind: "local" | "elsewhere" }

export type Account = {
  readonly displayName: string
  readonly loginName: string
  /** The visible part of the login name; absent if all of it is shown. */
  readonly shownAs?: string | undefined
  /** URL of the profile picture, if there is one. */
  readonly picture?: string | undefined
}

/** The target and hidden fields of a form. */
export type Target = {
  readonly action: string
  readonly csrf: string
  readonly authRequest?: string | undefined
}

/** A provider for sign-in, with the URL that starts it. */
export type OfferedProvider = { readonly name: string; readonly href: string }

type ProvidersProps = Pick<PageProps, "t"> & { readonly providers: readonly OfferedProvider[] }

/** Alternatives to a password. */
export const Providers = ({ t, providers }: ProvidersProps) =>
  providers.map(({ name, href }) => (
    <ButtonLink key={href} href={href} wide>
      {t("login_name.provider", { provider: name })}
    </ButtonLink>
  ))

type FlowFormProps = { readonly target: Target; readonly children: ReactNode }

export function FlowForm({ target, children }: FlowFormProps) {
  return (
    <form className="stack" method="post" action={target.action}>
      <input type="hidden" name="csrf" value={target.csrf} />
      {target.authRequest && <input type="hidden" name="authRequest" value={target.authRequest} />}
      {children}
    </form>
  )
}

/** All pages of a sign-in post cancellation here, whatever their form target. */
const cancelPath = "/ui/login/cancel"

type CancelProps = Pick<PageProps, "t"> & {
  readonly form: Target
  readonly application: Application | undefined
}

/**
 * OpenID Connect Core §3.1.2.6: cancels the request with the error access_denied. Not shown without
 * a request.
 */
export const Cancel = ({ t, form, application }: CancelProps) =>
  application?.isConsole === false &&
  form.authRequest !== undefined && (
    <FlowForm target={{ ...form, action: cancelPath }}>
      <Button kind="plain" type="submit" wide>
        {t("consent.cancel")}
      </Button>
    </FlowForm>
  )

type RequestedDataProps = Pick<PageProps, "t" | "language"> & {
  readonly application: Application
  /** Whether the page is about this list only, so that it is shown prominently. */
  readonly isQuestion?: boolean
}

/** Cached by language, because creating a formatter costs more than rendering a page. */
const listFormats = new Map<string, Intl.ListFormat>()

function listFormatOf(language: string): Intl.ListFormat {
  const listFormat =
    listFormats.get(language) ?? new Intl.ListFormat(language, { type: "conjunction" })
  listFormats.set(language, listFormat)
  return listFormat
}

type UnapprovedNoticeProps = Pick<PageProps, "t"> & {
  readonly name: string
  readonly destination: Destination
  readonly describedAt: string | undefined
}

/** Warns that no administrator has approved the application, and shows the destination. */
function UnapprovedNotice({
  t,
  name: application,
  destination,
  describedAt: metadataHost,
}: UnapprovedNoticeProps) {
  const host = destination.kind === "web" ? destination.host : ""
  const unapprovedDestination =
    metadataHost === undefined
      ? t("learns.unvouched", { application })
      : t("learns.unvouched_described", { application, host: metadataHost })
  return (
    <div className="alert alert-warning" dir="auto">
      <p>{unapprovedDestination}</p>
      <p>{t(`learns.unvouched_${destination.kind}`, { host })}</p>
    </div>
  )
}

/** Lists the data that the application receives, before the user enters anything. */
export function RequestedData({
  t,
  language,
  application,
  isQuestion = false,
}: RequestedDataProps) {
  const receivedKinds = dataKinds.filter((one) => application.requestedData.includes(one))
  const grantedKinds = permissionKinds.filter((one) => application.requestedData.includes(one))
  const { name, unapprovedDestination, metadataHost } = application
  const warning = unapprovedDestination && (
    <UnapprovedNotice
      t={t}
      name={name}
      destination={unapprovedDestination}
      describedAt={metadataHost}
    />
  )
  if (receivedKinds.length === 0) return warning
  const what = listFormatOf(language).format(receivedKinds.map((one) => t(`learns.${one}`)))
  return (
    <>
      {warning}
      {application.isInDevelopment && (
        <p className="alert alert-warning">{t("learns.development")}</p>
      )}
      <div className={isQuestion ? "learns learns-question" : "learns"}>
        <p>{t("learns.sentence", { application: application.name, what })}</p>
        {grantedKinds.map((one) => (
          <p key={one} className={one === "manage" ? "learns-most" : undefined}>
            {t(`learns.${one}`)}
          </p>
        ))}
      </div>
    </>
  )
}

type AccountChipProps = Pick<PageProps, "t"> & {
  readonly account: Account
  readonly changeHref: string
}

/** The name and picture of an account. */
export const AccountIdentity = ({ account }: { readonly account: Account }) => (
  <UserSummary
    name={account.displayName}
    loginName={account.shownAs ?? account.loginName}
    picture={account.picture}
  />
)

/** The account, with a link to change it. */
export function AccountChip({ t, account, changeHref }: AccountChipProps) {
  return (
    <div className="account-chip">
      <AccountIdentity account={account} />
      <a href={changeHref} aria-label={t("account.change_long")}>
        {t("account.change")}
      </a>
    </div>
  )
}
