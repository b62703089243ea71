import { Button, ButtonLink } from "../kit/button.tsx"
import { TextField } from "../kit/field.tsx"
import {
  type Account,
  AccountChip,
  type Application,
  FlowForm,
  Learns,
  type Target,
} from "./flow.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

export type MagicLinkPageProps = PageProps & {
  readonly form: Target
  /** What was asked for, sealed; posted as it is. */
  readonly link: string
  /** Only the name that was typed, which tells nothing; absent where the link has led here. */
  readonly account?: Account | undefined
  /** Whether the link of the mail has led here, and brings the code. */
  readonly isOpened: boolean
  /** Where another one is asked for, or a password given. */
  readonly backHref: string
  readonly application?: Application | undefined
  readonly error?: string | undefined
}

/**
 * In the browser that has asked for a link: its code is typed here, or comes behind the # of the
 * link. The same for everybody, whether there is such an account or not. Posts `link`, `loginName`
 * (unchanged) and `code`.
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
      {application && <Learns t={t} language={language} application={application} />}
    </Frame>
  )
}

export type MagicLinkElsewherePageProps = PageProps & { readonly signInHref: string }

/** In any other browser: it shows the code to be typed where the link was asked for. */
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
