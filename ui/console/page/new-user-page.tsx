import { useState } from "react"
import { Alert } from "../../kit/alert.tsx"
import { Button } from "../../kit/button.tsx"
import { Choice } from "../../kit/choice.tsx"
import { PasswordField, TextField } from "../../kit/field.tsx"
import { useHouse } from "../house.ts"
import { LinkButton } from "../link.tsx"
import { useAction } from "../load.ts"
import { PageFrame } from "../page-frame.tsx"
import { go } from "../route.ts"

const kinds = ["person", "service"] as const
type Kind = (typeof kinds)[number]

type Draft = {
  firstName: string
  lastName: string
  email: string
  loginName: string
  password: string
  description: string
}

const blank: Draft = {
  firstName: "",
  lastName: "",
  email: "",
  loginName: "",
  password: "",
  description: "",
}

/** A person who signs in, or a service user that calls the interface with a key. */
export function NewUserPage() {
  const { t, core, organization } = useHouse()
  const [kind, setKind] = useState<Kind>("person")
  const [draft, setDraft] = useState<Draft>(blank)
  const change = (part: Partial<Draft>) => setDraft({ ...draft, ...part })
  const action = useAction(async () => {
    const userType = kind === "person" ? personOf(draft) : serviceOf(draft)
    const named = draft.loginName.trim() && { username: draft.loginName.trim() }
    const wanted = { organizationId: organization.id, ...(named || {}), userType }
    const { id } = await core.users.createUser(wanted)
    go({ page: "user", userId: id })
  })
  const fields = { draft, change }
  return (
    <PageFrame
      title={t("users.create")}
      crumbs={[{ label: t("nav.users"), to: { page: "users" } }]}
      narrow
    >
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault()
          action.run()
        }}
      >
        <Choice
          legend={t("users.kind")}
          name="kind"
          options={kinds.map((value) => ({
            value,
            label: t(`kind.${value}`),
            hint: t(`kind.${value}.hint`),
          }))}
          value={kind}
          onChange={setKind}
        />
        {kind === "person" ? <PersonFields {...fields} /> : <ServiceFields {...fields} />}
        {action.error && <Alert tone="danger">{action.error}</Alert>}
        <div className="form-actions">
          <Button kind="primary" type="submit" disabled={action.busy}>
            {t("users.create")}
          </Button>
          <LinkButton to={{ page: "users" }}>{t("form.cancel")}</LinkButton>
        </div>
      </form>
    </PageFrame>
  )
}

type FieldsProps = { readonly draft: Draft; readonly change: (part: Partial<Draft>) => void }

function PersonFields({ draft, change }: FieldsProps) {
  const { t } = useHouse()
  return (
    <>
      <div className="pair">
        <TextField
          label={t("field.first_name")}
          value={draft.firstName}
          onChange={(event) => change({ firstName: event.target.value })}
          maxLength={200}
          autoComplete="off"
          required
        />
        <TextField
          label={t("field.last_name")}
          value={draft.lastName}
          onChange={(event) => change({ lastName: event.target.value })}
          maxLength={200}
          autoComplete="off"
          required
        />
      </div>
      <TextField
        label={t("field.email")}
        type="email"
        value={draft.email}
        onChange={(event) => change({ email: event.target.value })}
        autoComplete="off"
        required
      />
      <LoginNameField draft={draft} change={change} hint={t("users.login_name_hint")} />
      <PasswordField
        label={t("field.password")}
        optional={t("form.optional")}
        hint={t("users.first_password_hint")}
        show={t("field.show")}
        hide={t("field.hide")}
        value={draft.password}
        onChange={(event) => change({ password: event.target.value })}
        autoComplete="new-password"
        minLength={8}
      />
    </>
  )
}

function ServiceFields({ draft, change }: FieldsProps) {
  const { t } = useHouse()
  return (
    <>
      <TextField
        label={t("field.name")}
        hint={t("users.service_name_hint")}
        value={draft.firstName}
        onChange={(event) => change({ firstName: event.target.value })}
        maxLength={200}
        autoComplete="off"
        required
      />
      <LoginNameField draft={draft} change={change} hint={t("users.service_login_name_hint")} />
      <TextField
        label={t("field.description")}
        optional={t("form.optional")}
        value={draft.description}
        onChange={(event) => change({ description: event.target.value })}
        maxLength={500}
        autoComplete="off"
      />
    </>
  )
}

function LoginNameField({ draft, change, hint }: FieldsProps & { readonly hint: string }) {
  const { t } = useHouse()
  return (
    <TextField
      label={t("field.login_name")}
      optional={t("form.optional")}
      hint={hint}
      value={draft.loginName}
      onChange={(event) => change({ loginName: event.target.value })}
      maxLength={200}
      autoComplete="off"
      autoCapitalize="none"
      spellCheck={false}
    />
  )
}

function personOf(draft: Draft) {
  const password = { case: "password", value: { password: draft.password } } as const
  const value = {
    profile: { givenName: draft.firstName.trim(), familyName: draft.lastName.trim() },
    email: { email: draft.email.trim() },
    passwordType: draft.password ? password : { case: undefined },
  }
  return { case: "human", value } as const
}

function serviceOf(draft: Draft) {
  const description = draft.description.trim()
  const value = { name: draft.firstName.trim(), ...(description && { description }) }
  return { case: "machine", value } as const
}
