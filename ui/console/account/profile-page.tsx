import { AuthService } from "../../../src/gen/core/auth/v1/auth_service_pb.ts"
import { SelectField } from "../../kit/index.ts"
import { defineForm, EditSection, verbatim } from "../form/index.ts"
import { call, ignoreError, languageName, Page, t, ValueList } from "../shell/index.ts"
import { visibleLoginNames } from "../user/login-names.ts"
import { EmailField, PhoneField } from "./contact.tsx"
import { createLanguageOptions } from "./language-options.ts"
import { type Me, useMe } from "./me.ts"
import { Picture } from "./picture.tsx"

const { updateMyProfile, updateMyUserName } = AuthService.method

/** The user's profile for applications. */
export function ProfilePage() {
  const me = useMe()
  if (!me) return null
  return (
    <Page title={t("nav.profile")} narrow>
      <Picture me={me} />
      <ProfileDetails me={me} />
      <LoginNames me={me} />
      <EmailField me={me} />
      <PhoneField me={me} />
    </Page>
  )
}

type MeProps = { readonly me: Me }

function ProfileDetails({ me }: MeProps) {
  const { firstName, lastName, displayName, nickName, preferredLanguage } = me.human.profile ?? {}
  return (
    <EditSection
      needs="own"
      title={t("detail.about")}
      rows={[
        [t("field.first_name"), firstName],
        [t("field.last_name"), lastName],
        [t("field.display_name"), displayName],
        [t("account.nick_name"), nickName],
        [t("account.language"), languageName(preferredLanguage ?? "")],
      ]}
      form={profileForm(me)}
    />
  )
}

function profileForm({ human: { profile } }: Me) {
  const { firstName = "", lastName = "", displayName = "", nickName = "" } = profile ?? {}
  const { preferredLanguage = "", gender = 0 } = profile ?? {}
  const languages = createLanguageOptions(preferredLanguage, t("account.any_language"))
  return defineForm({
    initial: { firstName, lastName, displayName, nickName, preferredLanguage },
    refusals: { firstName: ["givenName"], lastName: ["familyName"] },
    save: (values) => ignoreError("user.unchanged", call(updateMyProfile, { ...values, gender })),
    fields: ({ text, values, change, contested }) => [
      <div className="pair" key="names">
        {text("firstName", t("field.first_name"), { autoComplete: "given-name", required: true })}
        {text("lastName", t("field.last_name"), { autoComplete: "family-name", required: true })}
      </div>,
      text("displayName", t("field.display_name"), {
        hint: t("account.display_name_hint"),
        required: true,
      }),
      text("nickName", t("account.nick_name"), { optional: true, autoComplete: "nickname" }),
      contested(
        "preferredLanguage",
        t("account.language"),
        <SelectField
          label={t("account.language")}
          hint={t("account.language_hint")}
          name="preferredLanguage"
          options={languages}
          value={values.preferredLanguage}
          onChange={(chosen) => change({ preferredLanguage: chosen })}
        />,
        (code) => languageName(String(code)),
      ),
    ],
  })
}

function LoginNames({ me: { user, human, canRename } }: MeProps) {
  const { email, isEmailVerified } = human.email ?? {}
  const names = visibleLoginNames(user.loginNames, isEmailVerified ? email : undefined)
  return (
    <EditSection
      needs="own"
      title={t("field.login_names")}
      facts={
        <>
          <p className="quiet section-lead">{t("account.login_names_text")}</p>
          <ValueList values={names} />
          {!canRename && <p className="quiet small">{t("account.rename_off")}</p>}
        </>
      }
      {...(canRename && { form: loginNameForm(user.userName) })}
    />
  )
}

const loginNameForm = (userName: string) =>
  defineForm({
    initial: { userName },
    readBeforeSave: true,
    refusals: { userName: ["user.name", "user.login_name", "user.username"] },
    save: (values) =>
      ignoreError("user.unchanged", call(updateMyUserName, { userName: values.userName.trim() })),
    fields: ({ text }) =>
      text("userName", t("field.login_name"), {
        hint: t("account.rename_hint"),
        autoComplete: "username",
        ...verbatim,
        required: true,
      }),
  })
