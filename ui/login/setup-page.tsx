import { Alert } from "../kit/alert.tsx"
import { Button } from "../kit/button.tsx"
import { PasswordField, TextField } from "../kit/field.tsx"
import { sentenceOf } from "../kit/sentence.ts"
import { FlowForm, type Target } from "./flow.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

/** The fields the set-up form posts, beside `password`, which never comes back. */
export const setupFields = [
  "token",
  "publicUrl",
  "organization",
  "firstName",
  "lastName",
  "email",
  "loginName",
] as const
export type SetupField = (typeof setupFields)[number]

export type SetupPageProps = PageProps & {
  readonly form: Target
  /** `publicUrl` comes pre-filled with the address the browser used. */
  readonly values: Readonly<Partial<Record<SetupField, string>>>
  readonly errors?: Readonly<Partial<Record<SetupField | "password", string>>> | undefined
  readonly error?: string | undefined
}

/** Everything a new Latchkey has to know, on one page, with nothing asked that can wait. */
export function SetupPage(props: SetupPageProps) {
  const { t, form, error } = props
  return (
    <Frame {...props} title={t("setup.title")} wide>
      <Heading title={t("setup.title")} lead={t("setup.lead")} />
      {error && <Alert tone="danger">{sentenceOf(error)}</Alert>}
      <FlowForm target={form}>
        <CodeField {...props} />
        <PlaceFields {...props} />
        <OwnerFields {...props} />
        <Button kind="primary" type="submit" wide>
          {t("setup.submit")}
        </Button>
      </FlowForm>
    </Frame>
  )
}

/** Filled from the part of the link behind the #, which only the browser sees. */
function CodeField({ t, values, errors }: SetupPageProps) {
  if (values.token && !errors?.token) {
    return <input type="hidden" name="token" value={values.token} />
  }
  return (
    <div data-code-field="">
      <TextField
        label={t("setup.token")}
        hint={t("setup.token_hint")}
        name="token"
        error={errors?.token}
        data-from-link={errors?.token ? undefined : ""}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        required
      />
    </div>
  )
}

function PlaceFields({ t, values, errors }: SetupPageProps) {
  return (
    <>
      <TextField
        label={t("setup.public_url")}
        hint={t("setup.public_url_hint")}
        name="publicUrl"
        type="url"
        defaultValue={values.publicUrl}
        error={errors?.publicUrl}
        autoComplete="url"
        spellCheck={false}
        required
      />
      <TextField
        label={t("setup.organization")}
        hint={t("setup.organization_hint")}
        name="organization"
        defaultValue={values.organization}
        error={errors?.organization}
        autoComplete="organization"
        maxLength={200}
        required
        autoFocus
      />
    </>
  )
}

function OwnerFields({ t, values, errors }: SetupPageProps) {
  return (
    <fieldset className="stack">
      <legend className="visually-hidden">{t("setup.owner")}</legend>
      <div className="pair">
        <TextField
          label={t("setup.first_name")}
          name="firstName"
          defaultValue={values.firstName}
          error={errors?.firstName}
          autoComplete="given-name"
          maxLength={200}
          required
        />
        <TextField
          label={t("setup.last_name")}
          name="lastName"
          defaultValue={values.lastName}
          error={errors?.lastName}
          autoComplete="family-name"
          maxLength={200}
          required
        />
      </div>
      <div className="pair pair-roomy">
        <TextField
          label={t("setup.email")}
          name="email"
          type="email"
          defaultValue={values.email}
          error={errors?.email}
          autoComplete="email"
          required
        />
        <TextField
          label={t("setup.login_name")}
          name="loginName"
          defaultValue={values.loginName}
          error={errors?.loginName}
          autoComplete="username"
          autoCapitalize="none"
          spellCheck={false}
          maxLength={200}
          required
        />
      </div>
      <PasswordField
        label={t("password.label")}
        hint={t("setup.password_hint")}
        show={t("password.show")}
        hide={t("password.hide")}
        name="password"
        error={errors?.password}
        autoComplete="new-password"
        minLength={8}
        required
      />
    </fieldset>
  )
}
