import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { Check } from "../../kit/check.tsx"
import { Choice } from "../../kit/choice.tsx"
import { PasswordField, TextField } from "../../kit/field.tsx"
import { Fields } from "../form/form.tsx"
import { type Form, useForm } from "../form/use-form.ts"
import { call } from "../shell/call.ts"
import { Page } from "../shell/frame.tsx"
import { useOrganization } from "../shell/organization.tsx"
import { refusalOf } from "../shell/refusal.ts"
import { useText } from "../shell/text.ts"
import { inviteTo } from "./invite.tsx"
import { type Invited, InvitedPage } from "./invited-page.tsx"

const kinds = ["person", "service"] as const

type Values = Record<
  "firstName" | "lastName" | "email" | "loginName" | "password" | "description",
  string
> & { kind: (typeof kinds)[number]; emailVerified: boolean }

const initial: Values = {
  kind: "person",
  firstName: "",
  lastName: "",
  email: "",
  loginName: "",
  password: "",
  description: "",
  emailVerified: false,
}

/**
 * A person who signs in, or a service user that calls the interface with a key. Who has no password
 * yet is given a link by which they choose one.
 */
export function NewUserPage() {
  const [invited, setInvited] = useState<Invited>()
  if (invited) return <InvitedPage invited={invited} again={() => setInvited(undefined)} />
  return <NewUser onInvited={setInvited} />
}

function NewUser({ onInvited }: { readonly onInvited: (invited: Invited) => void }) {
  const { t } = useText()
  const { id: organizationId, name } = useOrganization()
  const navigate = useNavigate()
  const form = useForm({
    id: "new-user",
    initial,
    secret: ["password"],
    refusals: {
      email: ["user.email"],
      loginName: ["user.name", "user.login_name", "user.username", "user.exists"],
      password: ["user.password"],
    },
    save: (values) => create(organizationId, values),
    done: ({ userId, invited }) =>
      invited ? onInvited(invited) : navigate({ to: "/users/$userId", params: { userId } }),
  })
  const cancel = () => void navigate({ to: "/users" })
  return (
    <Page
      title={t("users.create")}
      crumbs={[
        { label: name, link: { to: "/users" } },
        { label: t("nav.users"), link: { to: "/users" } },
      ]}
      narrow
    >
      <Fields form={form} submit={t("users.create")} onCancel={cancel}>
        <Choice
          legend={t("users.kind")}
          name="kind"
          options={kinds.map((value) => ({
            value,
            label: t(`kind.${value}`),
            hint: t(`kind.${value}.hint`),
          }))}
          value={form.values.kind}
          onChange={(kind) => form.change({ kind })}
        />
        {form.values.kind === "person" ? (
          <PersonFields form={form} />
        ) : (
          <ServiceFields form={form} />
        )}
      </Fields>
    </Page>
  )
}

async function create(organizationId: string, values: Values) {
  const isPerson = values.kind === "person"
  const userType = isPerson ? personOf(values) : serviceOf(values)
  const username = values.loginName.trim()
  const wanted = { organizationId, ...(username && { username }), userType }
  const { id: userId } = await call(UserService.method.createUser, wanted)
  if (!isPerson || values.password) return { userId }
  const name = `${values.firstName.trim()} ${values.lastName.trim()}`
  // The person is there whatever becomes of the link: to create them again would be refused.
  const made = await inviteTo(userId, organizationId).then(
    (link) => ({ link }),
    (failure: unknown) => ({ link: "", refusal: refusalOf(failure) }),
  )
  return { userId, invited: { userId, name, ...made } }
}

type FieldsProps = { readonly form: Form<Values> }

function PersonFields({ form }: FieldsProps) {
  const { t } = useText()
  return (
    <>
      <div className="pair">
        <TextField label={t("field.first_name")} {...form.text("firstName")} required />
        <TextField label={t("field.last_name")} {...form.text("lastName")} required />
      </div>
      <TextField label={t("field.email")} type="email" {...form.text("email")} required />
      <Check
        label={t("contact.email_verified")}
        hint={t("users.verified_hint")}
        checked={form.values.emailVerified}
        onChange={(emailVerified) => form.change({ emailVerified })}
      />
      <LoginNameField form={form} hint={t("users.login_name_hint")} />
      <PasswordField
        label={t("field.password")}
        optional={t("form.optional")}
        hint={t("users.first_password_hint")}
        show={t("field.show")}
        hide={t("field.hide")}
        {...form.text("password")}
        autoComplete="new-password"
        minLength={8}
      />
    </>
  )
}

function ServiceFields({ form }: FieldsProps) {
  const { t } = useText()
  return (
    <>
      <TextField
        label={t("field.name")}
        hint={t("users.service_name_hint")}
        {...form.text("firstName")}
        required
      />
      <LoginNameField form={form} hint={t("users.service_login_name_hint")} />
      <TextField
        label={t("field.description")}
        optional={t("form.optional")}
        {...form.text("description")}
        maxLength={500}
      />
    </>
  )
}

function LoginNameField({ form, hint }: FieldsProps & { readonly hint: string }) {
  const { t } = useText()
  return (
    <TextField
      label={t("field.login_name")}
      optional={t("form.optional")}
      hint={hint}
      {...form.text("loginName")}
      autoCapitalize="none"
      spellCheck={false}
    />
  )
}

function personOf(values: Values) {
  const password = { case: "password", value: { password: values.password } } as const
  const value = {
    profile: { givenName: values.firstName.trim(), familyName: values.lastName.trim() },
    email: {
      email: values.email.trim(),
      ...(values.emailVerified && { verification: { case: "isVerified", value: true } as const }),
    },
    passwordType: values.password ? password : { case: undefined },
  }
  return { case: "human", value } as const
}

function serviceOf(values: Values) {
  const description = values.description.trim()
  const value = { name: values.firstName.trim(), ...(description && { description }) }
  return { case: "machine", value } as const
}
