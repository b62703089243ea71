import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { type Controls, defineForm, verbatim } from "../form/index.ts"
import { call, Page, refusalOf, t, useOrganization } from "../shell/index.ts"
import { createInviteLink } from "./invite.tsx"
import { InvitedPage, type InvitedUser } from "./invited-page.tsx"

const userKinds = ["person", "service"] as const

type NewUserValues = Record<
  "firstName" | "lastName" | "email" | "loginName" | "password" | "description",
  string
> & { kind: (typeof userKinds)[number]; emailVerified: boolean }

const emptyValues: NewUserValues = {
  kind: "person",
  firstName: "",
  lastName: "",
  email: "",
  loginName: "",
  password: "",
  description: "",
  emailVerified: false,
}

/** Creates a human user or a service account. A user without a password gets an invitation link. */
export function NewUserPage() {
  const [invited, setInvited] = useState<InvitedUser>()
  if (invited) return <InvitedPage invited={invited} onAddAnother={() => setInvited(undefined)} />
  return <NewUserForm onInvited={setInvited} />
}

function NewUserForm({ onInvited }: { readonly onInvited: (invited: InvitedUser) => void }) {
  const { id: organizationId, name } = useOrganization()
  const navigate = useNavigate()
  const form = defineForm({
    initial: emptyValues,
    secret: ["password"],
    refusals: {
      // For a service account it is the whole name.
      firstName: ["givenName", "name"],
      lastName: ["familyName"],
      email: ["user.email"],
      loginName: ["user.name", "user.login_name", "user.username", "user.exists"],
      password: ["user.password"],
    },
    save: (values) => createUser(organizationId, values),
    done: ({ userId, invited }) =>
      invited ? onInvited(invited) : navigate({ to: "/users/$userId", params: { userId } }),
    submit: t("users.create"),
    fields: (controls) => [
      controls.choice("kind", t("users.kind"), {
        of: userKinds,
        label: (kind) => t(`kind.${kind}`),
        hints: (kind) => t(`kind.${kind}.hint`),
      }),
      controls.values.kind === "person" ? humanFields(controls) : serviceAccountFields(controls),
    ],
  })
  return (
    <Page
      title={t("users.create")}
      crumbs={[
        { label: name, link: { to: "/users" } },
        { label: t("nav.users"), link: { to: "/users" } },
      ]}
      narrow
    >
      {form({ id: "new-user", close: () => void navigate({ to: "/users" }) })}
    </Page>
  )
}

async function createUser(organizationId: string, values: NewUserValues) {
  const isPerson = values.kind === "person"
  const userType = isPerson ? toHuman(values) : toServiceAccount(values)
  const username = values.loginName.trim()
  const request = { organizationId, ...(username && { username }), userType }
  const { id: userId } = await call(UserService.method.createUser, request)
  if (!isPerson || values.password) return { userId }
  const name = `${values.firstName.trim()} ${values.lastName.trim()}`
  // A failed link must not fail the creation, which could not be repeated.
  const created = await createInviteLink(userId, organizationId).then(
    (link) => ({ link }),
    (failure: unknown) => ({ link: "", refusal: refusalOf(failure) }),
  )
  return { userId, invited: { userId, name, ...created } }
}

const humanFields = ({ text, secret, check }: Controls<NewUserValues>) => [
  <div className="pair" key="names">
    {text("firstName", t("field.first_name"), { required: true })}
    {text("lastName", t("field.last_name"), { required: true })}
  </div>,
  text("email", t("field.email"), { type: "email", required: true }),
  check("emailVerified", t("contact.email_verified"), t("users.verified_hint")),
  text("loginName", t("field.login_name"), {
    optional: true,
    hint: t("new_user.login_name_hint"),
    ...verbatim,
  }),
  secret("password", t("field.password"), {
    optional: true,
    hint: t("new_user.first_password_hint"),
    minLength: 8,
  }),
]

const serviceAccountFields = ({ text }: Controls<NewUserValues>) => [
  text("firstName", t("field.name"), { hint: t("new_user.service_name_hint"), required: true }),
  text("loginName", t("field.login_name"), {
    optional: true,
    hint: t("new_user.service_login_name_hint"),
    ...verbatim,
  }),
  text("description", t("field.description"), { optional: true, maxLength: 500 }),
]

function toHuman(values: NewUserValues) {
  // A user without a password is invited, which verifies the address, so no other email is sent.
  const isDecided = values.emailVerified || values.password === ""
  const password = { case: "password", value: { password: values.password } } as const
  const value = {
    profile: { givenName: values.firstName.trim(), familyName: values.lastName.trim() },
    email: {
      email: values.email.trim(),
      ...(isDecided && {
        verification: { case: "isVerified", value: values.emailVerified } as const,
      }),
    },
    passwordType: values.password ? password : { case: undefined },
  }
  return { case: "human", value } as const
}

function toServiceAccount(values: NewUserValues) {
  const description = values.description.trim()
  const value = { name: values.firstName.trim(), ...(description && { description }) }
  return { case: "machine", value } as const
}
