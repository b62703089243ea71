import type { ReactNode } from "react"
import { Button, ButtonLink } from "../kit/button.tsx"
import { Person } from "../kit/person.tsx"
import type { PageProps } from "./frame.tsx"

/** What an application gets to know when somebody signs in to it, in the order it is told. */
const knowledge = [
  ...(["identity", "name", "email", "phone", "address"] as const),
  ...(["roles", "organization", "metadata"] as const),
] as const
/** What it may do from then on, in a sentence each. */
const rights = ["manage", "offline"] as const
export const learnable = [...knowledge, ...rights] as const
export type Learnable = (typeof learnable)[number]

/** The application somebody is on the way to. */
export type Application = {
  readonly name: string
  readonly learns: readonly Learnable[]
  /** Whether it may do what only an application that is being tested should. */
  readonly isInDevelopment?: boolean
  /** Our own console: whoever does not sign in has nothing there to go back to. */
  readonly isOurs?: boolean
  /** Where the answer goes, of one that registered itself; absent for others. */
  readonly unvouched?: Destination | undefined
  /** The host at which it says what it is, of one that nobody has registered, not even itself. */
  readonly describedAt?: string | undefined
}

/** A host, a program on the person's own device, or one that shows a code. */
export type Destination =
  | { readonly kind: "web"; readonly host: string }
  | { readonly kind: "local" | "elsewhere" }

export type Account = {
  readonly displayName: string
  readonly loginName: string
  /** What is shown of that; left out for all of it. */
  readonly shownAs?: string | undefined
  /** The address of a picture of them, where there is one. */
  readonly picture?: string | undefined
}

/** Where a form posts to, and what it carries unseen. */
export type Target = {
  readonly action: string
  readonly csrf: string
  readonly authRequest?: string | undefined
}

/** A provider that one can sign in with instead, by the address that leads there. */
export type OfferedProvider = { readonly name: string; readonly href: string }

type ProvidersProps = Pick<PageProps, "t"> & { readonly providers: readonly OfferedProvider[] }

/** The ways round a password of ours. */
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

/** Where each page of a sign-in posts this to, whatever else it posts elsewhere. */
const cancelPath = "/ui/login/cancel"

type CancelProps = Pick<PageProps, "t"> & {
  readonly form: Target
  readonly application: Application | undefined
}

/**
 * OpenID Connect Core §3.1.2.6: ends the request, and tells the application so (access_denied).
 * Without a request there is nothing to end.
 */
export const Cancel = ({ t, form, application }: CancelProps) =>
  application?.isOurs === false &&
  form.authRequest !== undefined && (
    <FlowForm target={{ ...form, action: cancelPath }}>
      <Button kind="plain" type="submit" wide>
        {t("consent.cancel")}
      </Button>
    </FlowForm>
  )

type LearnsProps = Pick<PageProps, "t" | "language"> & {
  readonly application: Application
  /** Where the page is about nothing else: what is asked for is not the small print. */
  readonly isQuestion?: boolean
}

/** One for each language: to make one costs more than to render a page with it. */
const listings = new Map<string, Intl.ListFormat>()

function listing(language: string): Intl.ListFormat {
  const known = listings.get(language) ?? new Intl.ListFormat(language, { type: "conjunction" })
  listings.set(language, known)
  return known
}

type UnvouchedProps = Pick<PageProps, "t"> & {
  readonly name: string
  readonly destination: Destination
  readonly describedAt: string | undefined
}

/** Says that nobody has looked at the application, and where it is that it will learn things. */
function Unvouched({ t, name: application, destination, describedAt }: UnvouchedProps) {
  const host = destination.kind === "web" ? destination.host : ""
  const unvouched =
    describedAt === undefined
      ? t("learns.unvouched", { application })
      : t("learns.unvouched_described", { application, host: describedAt })
  return (
    <div className="alert alert-warning" dir="auto">
      <p>{unvouched}</p>
      <p>{t(`learns.unvouched_${destination.kind}`, { host })}</p>
    </div>
  )
}

/** Says, before anything is typed, what the application will learn. */
export function Learns({ t, language, application, isQuestion = false }: LearnsProps) {
  const told = knowledge.filter((one) => application.learns.includes(one))
  const given = rights.filter((one) => application.learns.includes(one))
  const { name, unvouched, describedAt } = application
  const warning = unvouched && (
    <Unvouched t={t} name={name} destination={unvouched} describedAt={describedAt} />
  )
  if (told.length === 0) return warning
  const what = listing(language).format(told.map((one) => t(`learns.${one}`)))
  return (
    <>
      {warning}
      {application.isInDevelopment && (
        <p className="alert alert-warning">{t("learns.development")}</p>
      )}
      <div className={isQuestion ? "learns learns-question" : "learns"}>
        <p>{t("learns.sentence", { application: application.name, what })}</p>
        {given.map((one) => (
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

/** Who an account is. */
export const AccountPerson = ({ account }: { readonly account: Account }) => (
  <Person
    name={account.displayName}
    loginName={account.shownAs ?? account.loginName}
    picture={account.picture}
  />
)

/** The account in question, with the way to another one. */
export function AccountChip({ t, account, changeHref }: AccountChipProps) {
  return (
    <div className="account-chip">
      <AccountPerson account={account} />
      <a href={changeHref} aria-label={t("account.change_long")}>
        {t("account.change")}
      </a>
    </div>
  )
}
