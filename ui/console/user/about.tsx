import type { User } from "../../../src/gen/core/user/v2/user_pb.ts"
import { TextField } from "../../kit/field.tsx"
import { Copyable } from "../detail.tsx"
import { ActionForm, EditSection, useSaving, useTexts } from "../form.tsx"
import { useHouse } from "../house.ts"
import { Time } from "../time.tsx"
import type { UserPart } from "./part.ts"

/** Who it is, and the names they sign in with. */
export function About({ user, onChanged }: UserPart) {
  const { t } = useHouse()
  const forms = { human: PersonForm, machine: ServiceForm } as const
  const Form = user.type.case ? forms[user.type.case] : undefined
  return (
    <EditSection
      title={t("detail.about")}
      facts={<Facts user={user} />}
      form={(close) => Form && <Form {...{ user, onChanged, close }} />}
    />
  )
}

function Facts({ user }: { readonly user: User }) {
  const { t } = useHouse()
  const { userId, details, loginNames } = user
  return (
    <dl className="facts">
      <Named user={user} />
      <dt>{t("field.login_names")}</dt>
      <dd>
        <ul className="value-list">
          {loginNames.map((loginName) => (
            <li key={loginName}>{loginName}</li>
          ))}
        </ul>
      </dd>
      <dt>{t("field.user_id")}</dt>
      <dd>
        <Copyable value={userId} what={t("field.user_id")} />
      </dd>
      <dt>{t("field.created")}</dt>
      <dd>
        <Time at={details?.creationDate} />
      </dd>
      <dt>{t("field.changed")}</dt>
      <dd>
        <Time at={details?.changeDate} />
      </dd>
    </dl>
  )
}

function Named({ user }: { readonly user: User }) {
  const { t } = useHouse()
  const { type } = user
  const description = type.case === "machine" ? type.value.description : ""
  const profile = type.case === "human" ? type.value.profile : undefined
  return (
    <>
      {profile && (
        <>
          <dt>{t("field.name")}</dt>
          <dd>
            {profile.givenName} {profile.familyName}
          </dd>
        </>
      )}
      {description && (
        <>
          <dt>{t("field.description")}</dt>
          <dd>{description}</dd>
        </>
      )}
    </>
  )
}

type FormProps = UserPart & { readonly close: () => void }

function PersonForm({ user, onChanged, close }: FormProps) {
  const { t, core } = useHouse()
  const { userId, username, type } = user
  const profile = type.case === "human" ? type.value.profile : undefined
  const { texts, field } = useTexts({
    username,
    givenName: profile?.givenName ?? "",
    familyName: profile?.familyName ?? "",
    displayName: profile?.displayName ?? "",
  })
  const save = () => {
    const { givenName, familyName, displayName } = texts
    const value = { profile: { givenName, familyName, displayName } }
    const userType = { case: "human", value } as const
    return core.users.updateUser({ userId, username: texts.username.trim(), userType })
  }
  const action = useSaving(save, onChanged, close)
  return (
    <ActionForm action={action} onCancel={close}>
      <div className="pair">
        <TextField label={t("field.first_name")} {...field("givenName")} required autoFocus />
        <TextField label={t("field.last_name")} {...field("familyName")} required />
      </div>
      <TextField label={t("field.display_name")} {...field("displayName")} required />
      <UserName field={field} />
    </ActionForm>
  )
}

function ServiceForm({ user, onChanged, close }: FormProps) {
  const { t, core } = useHouse()
  const { userId, username, type } = user
  const { name, description } = type.case === "machine" ? type.value : { name: "", description: "" }
  const { texts, field } = useTexts({ username, name, description })
  const save = () => {
    const value = { name: texts.name.trim(), description: texts.description.trim() }
    const userType = { case: "machine", value } as const
    return core.users.updateUser({ userId, username: texts.username.trim(), userType })
  }
  const action = useSaving(save, onChanged, close)
  return (
    <ActionForm action={action} onCancel={close}>
      <TextField label={t("field.name")} {...field("name")} required autoFocus />
      <TextField
        label={t("field.description")}
        optional={t("form.optional")}
        {...field("description")}
        maxLength={500}
      />
      <UserName field={field} />
    </ActionForm>
  )
}

type UserNameProps = {
  readonly field: (name: "username") => ReturnType<ReturnType<typeof useTexts>["field"]>
}

function UserName({ field }: UserNameProps) {
  const { t } = useHouse()
  return (
    <TextField
      label={t("field.login_name")}
      hint={t("users.rename_hint")}
      {...field("username")}
      autoCapitalize="none"
      spellCheck={false}
      required
    />
  )
}
