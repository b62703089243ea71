import { Button, ButtonLink } from "../kit/button.tsx"
import { TextField } from "../kit/field.tsx"
import { FlowForm, type Target } from "./flow.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

export type ForgotPageProps = PageProps & {
  readonly form: Target
  readonly loginName: string
  readonly error?: string | undefined
  readonly backHref: string
}

/** Asks for the login name of a forgotten password. Posts `loginName`. */
export function ForgotPage(props: ForgotPageProps) {
  const { t, form, loginName, error, backHref } = props
  return (
    <Frame {...props} title={t("forgot.title")}>
      <Heading title={t("forgot.title")} lead={t("forgot.lead")} />
      <FlowForm target={form}>
        <TextField
          label={t("login_name.label")}
          name="loginName"
          defaultValue={loginName}
          error={error}
          autoComplete="username"
          autoCapitalize="none"
          autoCorrect="off"
          spellCheck={false}
          enterKeyHint="send"
          maxLength={200}
          required
        />
        <Button kind="primary" type="submit" wide>
          {t("forgot.submit")}
        </Button>
        <ButtonLink href={backHref} wide>
          {t("forgot.sent.back")}
        </ButtonLink>
      </FlowForm>
    </Frame>
  )
}

export type ForgotSentPageProps = PageProps & { readonly backHref: string }

/** The same whether the account exists or not. */
export function ForgotSentPage(props: ForgotSentPageProps) {
  const { t, backHref } = props
  return (
    <Frame {...props} title={t("forgot.sent.title")}>
      <Heading title={t("forgot.sent.title")} lead={t("forgot.sent.lead")} />
      <p className="quiet">{t("forgot.sent.todo")}</p>
      <ButtonLink href={backHref} wide>
        {t("forgot.sent.back")}
      </ButtonLink>
    </Frame>
  )
}
