import { Alert } from "../kit/alert.tsx"
import { Button } from "../kit/button.tsx"
import { PasswordField, TextField } from "../kit/field.tsx"
import { toSentence } from "../kit/sentence.ts"
import { FlowForm, type Target } from "./flow.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"
import { PasswordChecklist } from "./password-checklist.tsx"
import type { PasswordRules } from "./password-rules.ts"

/** The fields of the setup form besides `password`, which is never returned. */
export const setupFields = [
  "token",
  // Filled in by the page's script.
  "browserOrigin",
  "publicUrl",
  // The public URL to use although it does not lead to this server.
  "keptUrl",
  "organization",
  "firstName",
  "lastName",
  "email",
  "loginName",
] as const
export type SetupField = (typeof setupFields)[number]

export type SetupPageProps = PageProps & {
  readonly form: Target
  /** `publicUrl` is filled in with the URL that the browser used. */
  readonly values: Readonly<Partial<Record<SetupField, string>>>
  readonly errors?: Readonly<Partial<Record<SetupField | "password", string>>> | undefined
  readonly error?: string | undefined
  readonly rules: PasswordRules
  /** The password sent before, sealed; undefined if it was rejected. */
  readonly keptPassword?: string | undefined
  /** The URL of the request, if the browser may use a different one. */
  readonly seenUrl: string
  /** A public URL that does not lead to this server, but can be used nevertheless. */
  readonly strayUrl?: string | undefined
}

/** Everything that a new instance requires, on one page. */
export function SetupPage(props: SetupPageProps) {
  const { t, form, error } = props
  return (
    <Frame {...props} title={t("setup.title")} wide>
      <Heading title={t("setup.title")} lead={t("setup.lead")} />
      {error && <Alert tone="danger">{toSentence(error)}</Alert>}
      <FlowForm target={form}>
        <input type="hidden" name="browserOrigin" data-browser-origin="" />
        <CodeField {...props} />
        <UrlFields {...props} />
        <OwnerFields {...props} />
        <Button kind="primary" type="submit" wide>
          {t("setup.submit")}
        </Button>
      </FlowForm>
    </Frame>
  )
}

/** Filled from the fragment of the link, which only the browser sees. */
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
        autoFocus={Boolean(errors?.token)}
        data-from-link={errors?.token ? undefined : ""}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        required
      />
    </div>
  )
}

/** Placeholder for the browser's URL, which the script inserts. */
const browserUrlPlaceholder = "\u{fffc}"

function UrlFields({ t, values, errors, seenUrl, strayUrl }: SetupPageProps) {
  const message = t("setup.public_url_differs", { browser: browserUrlPlaceholder, server: seenUrl })
  const [before, after] = message.split(browserUrlPlaceholder)
  return (
    <>
      <TextField
        label={t("setup.public_url")}
        hint={t("setup.public_url_hint")}
        data-public-url={seenUrl}
        below={
          strayUrl ? (
            <label className="check">
              <input type="checkbox" name="keptUrl" value={strayUrl} />
              <span className="check-label">
                {t("setup.public_url_keep", { address: strayUrl })}
              </span>
            </label>
          ) : (
            <p className="field-hint" hidden>
              {before}
              <span data-browser-address="" />
              {after}
            </p>
          )
        }
        name="publicUrl"
        type="url"
        defaultValue={values.publicUrl}
        error={errors?.publicUrl}
        autoFocus={firstInvalidField(errors) === "publicUrl"}
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
        autoFocus={
          firstInvalidField(errors) === undefined || firstInvalidField(errors) === "organization"
        }
      />
    </>
  )
}

/** The field that is focused after an error. */
const firstInvalidField = (errors: SetupPageProps["errors"]) =>
  ([...setupFields, "password"] as const).find((name) => errors?.[name])

function OwnerFields({ t, values, errors, rules, keptPassword }: SetupPageProps) {
  const wrong = firstInvalidField(errors)
  return (
    <fieldset className="stack">
      <legend className="visually-hidden">{t("setup.owner")}</legend>
      <div className="pair">
        <TextField
          label={t("setup.first_name")}
          name="firstName"
          defaultValue={values.firstName}
          error={errors?.firstName}
          autoFocus={wrong === "firstName"}
          autoComplete="given-name"
          maxLength={200}
          required
        />
        <TextField
          label={t("setup.last_name")}
          name="lastName"
          defaultValue={values.lastName}
          error={errors?.lastName}
          autoFocus={wrong === "lastName"}
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
          autoFocus={wrong === "email"}
          autoComplete="email"
          required
        />
        <TextField
          label={t("setup.login_name")}
          hint={t("setup.login_name_hint")}
          name="loginName"
          data-follows="email"
          defaultValue={values.loginName}
          error={errors?.loginName}
          autoFocus={wrong === "loginName"}
          autoComplete="username"
          autoCapitalize="none"
          spellCheck={false}
          maxLength={200}
        />
      </div>
      {keptPassword && <input type="hidden" name="keptPassword" value={keptPassword} />}
      <PasswordField
        label={t("password.label")}
        below={<PasswordChecklist t={t} rules={rules} />}
        show={t("password.show")}
        hide={t("password.hide")}
        name="password"
        error={errors?.password}
        autoFocus={wrong === "password"}
        autoComplete="new-password"
        minLength={rules.minLength}
        required={!keptPassword}
        placeholder={keptPassword && "••••••••••••"}
      />
    </fieldset>
  )
}
