import { Button, ButtonLink } from "../kit/button.tsx"
import { TextField } from "../kit/field.tsx"
import {
  type Account,
  AccountChip,
  type Application,
  FlowForm,
  RequestedData,
  type Target,
} from "./flow.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

export type MagicLinkPageProps = PageProps & {
  readonly form: Target
  /** The sealed link, posted unchanged. */
  readonly link: string
  /** The entered login name only, which reveals nothing; absent if the emailed link was opened. */
  readonly account?: Account | undefined
  /** Whether the emailed link was opened, which contains the code. */
  readonly isOpened: boolean
  /** Where to request another link, or use a password. */
  readonly backHref: string
  readonly application?: Application | undefined
  readonly error?: string | undefined
}

/**
 * In the browser that requested the link: the code is entered here, or is in the fragment of the
 * link. The same whether the account exists or not. Posts `link`, `loginName` (unchanged) and
 * `code`.
 */
export function MagicLinkPage(props: MagicLinkPageProps) {
  const { t, language, form, link, account, isOpened, backHref, application, error } = props
  const title = t(isOpened ? "magic_link.open.title" : "forgot.sent.title")
  return (
    <Frame {...props} title={title}>
      <Heading title={title} lead={t(isOpened ? "magic_link.open.lead" : "magic_link.sent.lead")} />
      {account && <AccountChip t={t} account={account} changeHref={backHref} />}
      <FlowForm target={form}>
        <input type="hidden" name="link" value={link} />
        {account && <input type="hidden" name="loginName" value={account.loginName} />}
        <div data-code-field="">
          <TextField
            label={t("factor.code")}
            name="code"
            error={error}
            data-from-link={isOpened && !error ? "" : undefined}
            autoComplete="one-time-code"
            autoCapitalize="characters"
            autoCorrect="off"
            spellCheck={false}
            enterKeyHint="go"
            maxLength={128}
            required
            autoFocus
          />
        </div>
        <Button kind="primary" type="submit" wide>
          {t("password.submit")}
        </Button>
      </FlowForm>
      {!isOpened && <p className="quiet">{t("forgot.sent.todo")}</p>}
      <ButtonLink href={backHref} wide>
        {t("magic_link.back")}
      </ButtonLink>
      {application && <RequestedData t={t} language={language} application={application} />}
    </Frame>
  )
}

export type MagicLinkElsewherePageProps = PageProps & { readonly signInHref: string }

/** In any other browser: shows the code to enter where the link was requested. */
export function MagicLinkElsewherePage(props: MagicLinkElsewherePageProps) {
  const { t, signInHref } = props
  return (
    <Frame {...props} title={t("magic_link.elsewhere.title")}>
      <Heading title={t("magic_link.elsewhere.title")} lead={t("magic_link.elsewhere.lead")} />
      <div hidden data-code-shown="">
        <p>
          {t("magic_link.elsewhere.code")} <code data-code-place="" />
        </p>
      </div>
      <noscript>
        <p>{t("magic_link.elsewhere.mail")}</p>
      </noscript>
      <p className="quiet">{t("magic_link.elsewhere.warning")}</p>
      <ButtonLink href={signInHref} wide>
        {t("magic_link.back")}
      </ButtonLink>
    </Frame>
  )
}
