import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { type Controls, formOf, verbatim } from "../form/index.ts"
import { call, Page, refusalOf, t, useOrganization } from "../shell/index.ts"
import { inviteTo } from "./invite.tsx"
import { InvitedPage, type InvitedUser } from "./invited-page.tsx"

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
  const [invited, setInvited] = useState<InvitedUser>()
  if (invited) return <InvitedPage invited={invited} again={() => setInvited(undefined)} />
  return <NewUser onInvited={setInvited} />
}

function NewUser({ onInvited }: { readonly onInvited: (invited: InvitedUser) => void }) {
  const { id: organizationId, name } = useOrganization()
  const navigate = useNavigate()
  const form = formOf({
    initial,
    secret: ["password"],
    refusals: {
      // Of a service user it is the whole name.
      firstName: ["givenName", "name"],
      lastName: ["familyName"],
      email: ["user.email"],
      loginName: ["user.name", "user.login_name", "user.username", "user.exists"],
      password: ["user.password"],
    },
    save: (values) => create(organizationId, values),
    done: ({ userId, invited }) =>
      invited ? onInvited(invited) : navigate({ to: "/users/$userId", params: { userId } }),
    submit: t("users.create"),
    fields: (controls) => [
      controls.choice("kind", t("users.kind"), {
        of: kinds,
        words: (kind) => t(`kind.${kind}`),
        hints: (kind) => t(`kind.${kind}.hint`),
      }),
      controls.values.kind === "person" ? personFields(controls) : serviceFields(controls),
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

const personFields = ({ text, secret, check }: Controls<Values>) => [
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

const serviceFields = ({ text }: Controls<Values>) => [
  text("firstName", t("field.name"), { hint: t("new_user.service_name_hint"), required: true }),
  text("loginName", t("field.login_name"), {
    optional: true,
    hint: t("new_user.service_login_name_hint"),
    ...verbatim,
  }),
  text("description", t("field.description"), { optional: true, maxLength: 500 }),
]

function personOf(values: Values) {
  // A person without a password is invited, which verifies the address: no second mail is sent.
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

function serviceOf(values: Values) {
  const description = values.description.trim()
  const value = { name: values.firstName.trim(), ...(description && { description }) }
  return { case: "machine", value } as const
}
