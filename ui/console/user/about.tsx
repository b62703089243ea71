import { lazyRouteComponent } from "@tanstack/react-router"
import { Suspense } from "react"
import type { User } from "../../../src/gen/core/user/v2/user_pb.ts"
import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { defineForm, EditSection, verbatim } from "../form/index.ts"
import { dateRows } from "../list/index.ts"
import { call, copyableFact, t } from "../shell/index.ts"
import { visibleLoginNames } from "./login-names.ts"
import type { UserPart } from "./user.ts"

/**
 * Loaded separately, because few users have a picture, and removing it imports additional
 * descriptors.
 */
const Picture = lazyRouteComponent(() => import("./picture.tsx"), "Picture")

const LazyPicture = (part: UserPart) => (
  <Suspense>
    <Picture {...part} />
  </Suspense>
)

const { updateUser } = UserService.method

/** Profile and login names of a user. */
export function UserDetails({ user }: UserPart) {
  const { type, userId, details, loginNames } = user
  const profile = type.case === "human" ? type.value.profile : undefined
  return (
    <EditSection
      needs={updateUser}
      title={t("detail.about")}
      rows={[
        [t("picture.title"), profile?.avatarUrl && <LazyPicture key="picture" user={user} />],
        [t("field.name"), profile && `${profile.givenName} ${profile.familyName}`],
        [t("field.description"), type.case === "machine" && type.value.description],
        [
          t("field.login_names"),
          <ul className="value-list" key="names">
            {visibleLoginNames(loginNames, verifiedEmailOf(user)).map((loginName) => (
              <li key={loginName}>{loginName}</li>
            ))}
          </ul>,
        ],
        copyableFact(t("field.user_id"), userId),
        ...dateRows(details),
      ]}
      form={user.type.case === "human" ? humanForm(user) : serviceAccountForm(user)}
    />
  )
}

const verifiedEmailOf = ({ type }: User): string | undefined =>
  type.case === "human" && type.value.email?.isVerified ? type.value.email.email : undefined

const fieldErrorIds = { username: ["user.name", "user.login_name", "user.username"] } as const

function humanForm({ userId, username, type }: User) {
  const {
    givenName = "",
    familyName = "",
    displayName = "",
  } = (type.case === "human" && type.value.profile) || {}
  return defineForm({
    initial: { username, givenName, familyName, displayName },
    refusals: fieldErrorIds,
    save: ({ username: named, ...profile }) => {
      const userType = { case: "human", value: { profile } } as const
      return call(updateUser, { userId, username: named.trim(), userType })
    },
    fields: ({ text }) => [
      <div className="pair" key="names">
        {text("givenName", t("field.first_name"), { required: true })}
        {text("familyName", t("field.last_name"), { required: true })}
      </div>,
      text("displayName", t("field.display_name"), { required: true }),
      text("username", t("field.login_name"), loginNameField()),
    ],
  })
}

function serviceAccountForm({ userId, username, type }: User) {
  const { name, description } = type.case === "machine" ? type.value : { name: "", description: "" }
  return defineForm({
    initial: { username, name, description },
    refusals: fieldErrorIds,
    save: (values) => {
      const value = { name: values.name.trim(), description: values.description.trim() }
      const userType = { case: "machine", value } as const
      return call(updateUser, { userId, username: values.username.trim(), userType })
    },
    fields: ({ text }) => [
      text("name", t("field.name"), { required: true }),
      text("description", t("field.description"), { optional: true, maxLength: 500 }),
      text("username", t("field.login_name"), loginNameField()),
    ],
  })
}

const loginNameField = () => ({ hint: t("users.rename_hint"), ...verbatim, required: true })
