import { lazyRouteComponent } from "@tanstack/react-router"
import { Suspense } from "react"
import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { TextField } from "../../kit/field.tsx"
import { EditSection, Fields } from "../form/form.tsx"
import { type Form, useForm } from "../form/use-form.ts"
import { Time } from "../list/time.tsx"
import { call } from "../shell/call.ts"
import { Copyable, Facts } from "../shell/detail.tsx"
import { useText } from "../shell/text.ts"
import type { UserForm, UserPart } from "./part.ts"

/** Loaded by itself: few have one, and what takes it away has descriptors of its own. */
const Picture = lazyRouteComponent(() => import("./picture.tsx"), "Picture")

/** Who it is, and the names they sign in with. */
export function About({ user }: UserPart) {
  const { t } = useText()
  const forms = { human: PersonForm, machine: ServiceForm } as const
  const Form = user.type.case ? forms[user.type.case] : undefined
  const { type, userId, details, loginNames } = user
  const profile = type.case === "human" ? type.value.profile : undefined
  return (
    <EditSection
      needs={UserService.method.updateUser}
      title={t("detail.about")}
      facts={
        <Facts
          rows={[
            [
              t("picture.title"),
              profile?.avatarUrl && (
                <Suspense key="picture">
                  <Picture user={user} />
                </Suspense>
              ),
            ],
            [t("field.name"), profile && `${profile.givenName} ${profile.familyName}`],
            [t("field.description"), type.case === "machine" && type.value.description],
            [
              t("field.login_names"),
              <ul className="value-list" key="names">
                {loginNames.map((loginName) => (
                  <li key={loginName}>{loginName}</li>
                ))}
              </ul>,
            ],
            [t("field.user_id"), <Copyable key="id" value={userId} what={t("field.user_id")} />],
            [t("field.created"), <Time key="created" at={details?.creationDate} />],
            [t("field.changed"), <Time key="changed" at={details?.changeDate} />],
          ]}
        />
      }
      form={(id, close) => Form && <Form {...{ user, id, close }} />}
    />
  )
}

const refusals = { username: ["user.name", "user.login_name", "user.username"] } as const

function PersonForm({ user, id, close }: UserForm) {
  const { t } = useText()
  const { userId, username, type } = user
  const profile = type.case === "human" ? type.value.profile : undefined
  const form = useForm({
    id,
    initial: {
      username,
      givenName: profile?.givenName ?? "",
      familyName: profile?.familyName ?? "",
      displayName: profile?.displayName ?? "",
    },
    refusals,
    save: ({ givenName, familyName, displayName, ...values }) => {
      const value = { profile: { givenName, familyName, displayName } }
      const userType = { case: "human", value } as const
      const named = values.username.trim()
      return call(UserService.method.updateUser, { userId, username: named, userType })
    },
    done: close,
  })
  return (
    <Fields form={form} onCancel={close}>
      <div className="pair">
        <TextField label={t("field.first_name")} {...form.text("givenName")} required autoFocus />
        <TextField label={t("field.last_name")} {...form.text("familyName")} required />
      </div>
      <TextField label={t("field.display_name")} {...form.text("displayName")} required />
      <UserName form={form} />
    </Fields>
  )
}

function ServiceForm({ user, id, close }: UserForm) {
  const { t } = useText()
  const { userId, username, type } = user
  const { name, description } = type.case === "machine" ? type.value : { name: "", description: "" }
  const form = useForm({
    id,
    initial: { username, name, description },
    refusals,
    save: (values) => {
      const value = { name: values.name.trim(), description: values.description.trim() }
      const userType = { case: "machine", value } as const
      const named = values.username.trim()
      return call(UserService.method.updateUser, { userId, username: named, userType })
    },
    done: close,
  })
  return (
    <Fields form={form} onCancel={close}>
      <TextField label={t("field.name")} {...form.text("name")} required autoFocus />
      <TextField
        label={t("field.description")}
        optional={t("form.optional")}
        {...form.text("description")}
        maxLength={500}
      />
      <UserName form={form} />
    </Fields>
  )
}

function UserName<Values extends { username: string }>({ form }: { readonly form: Form<Values> }) {
  const { t } = useText()
  return (
    <TextField
      label={t("field.login_name")}
      hint={t("users.rename_hint")}
      error={form.errorOf("username")}
      name="username"
      value={form.values.username}
      onChange={({ target }) => form.change({ ...form.values, username: target.value })}
      maxLength={200}
      autoComplete="off"
      autoCapitalize="none"
      spellCheck={false}
      required
    />
  )
}
