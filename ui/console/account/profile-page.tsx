import { AuthService } from "../../../src/gen/core/auth/v1/auth_service_pb.ts"
import { TextField } from "../../kit/field.tsx"
import { SelectField } from "../../kit/select.tsx"
import { EditSection, Fields } from "../form/form.tsx"
import { useForm } from "../form/use-form.ts"
import { call } from "../shell/call.ts"
import { Facts } from "../shell/detail.tsx"
import { Page } from "../shell/frame.tsx"
import { unless } from "../shell/refusal.ts"
import { useText } from "../shell/text.ts"
import { Email, Phone } from "./contact.tsx"
import { languageName, languageOptions } from "./language.ts"
import { type Me, useMe } from "./me.ts"
import { Picture } from "./picture.tsx"

/** Who one is to the applications that one signs in to. */
export function ProfilePage() {
  const { t } = useText()
  const me = useMe()
  if (!me) return null
  return (
    <Page title={t("nav.profile")} narrow>
      <Picture me={me} />
      <About me={me} />
      <LoginNames me={me} />
      <Email me={me} />
      <Phone me={me} />
    </Page>
  )
}

type Part = { readonly me: Me }

function About({ me }: Part) {
  const { t, language } = useText()
  const { firstName, lastName, displayName, nickName, preferredLanguage } = me.human.profile ?? {}
  return (
    <EditSection
      needs="own"
      title={t("detail.about")}
      facts={
        <Facts
          rows={[
            [t("field.first_name"), firstName],
            [t("field.last_name"), lastName],
            [t("field.display_name"), displayName],
            [t("account.nick_name"), nickName],
            [t("account.language"), languageName(language, preferredLanguage ?? "")],
          ]}
        />
      }
      form={(id, close) => <AboutForm {...{ me, id, close }} />}
    />
  )
}

type FormPart = Part & { readonly id: string; readonly close: () => void }

function AboutForm({ me, id, close }: FormPart) {
  const { t, language } = useText()
  const { profile } = me.human
  const form = useForm({
    id,
    initial: {
      firstName: profile?.firstName ?? "",
      lastName: profile?.lastName ?? "",
      displayName: profile?.displayName ?? "",
      nickName: profile?.nickName ?? "",
      preferredLanguage: profile?.preferredLanguage ?? "",
    },
    save: (values) => {
      const { updateMyProfile } = AuthService.method
      const change = call(updateMyProfile, { ...values, gender: profile?.gender ?? 0 })
      return unless("user.unchanged", change)
    },
    done: close,
  })
  return (
    <Fields form={form} onCancel={close}>
      <div className="pair">
        <TextField
          label={t("field.first_name")}
          {...form.text("firstName")}
          autoComplete="given-name"
          required
        />
        <TextField
          label={t("field.last_name")}
          {...form.text("lastName")}
          autoComplete="family-name"
          required
        />
      </div>
      <TextField
        label={t("field.display_name")}
        hint={t("account.display_name_hint")}
        {...form.text("displayName")}
        required
      />
      <TextField
        label={t("account.nick_name")}
        optional={t("form.optional")}
        {...form.text("nickName")}
        autoComplete="nickname"
      />
      <SelectField
        label={t("account.language")}
        hint={t("account.language_hint")}
        name="preferredLanguage"
        options={languageOptions(
          language,
          form.values.preferredLanguage,
          t("account.any_language"),
        )}
        value={form.values.preferredLanguage}
        onChange={(preferredLanguage) => form.change({ preferredLanguage })}
      />
    </Fields>
  )
}

function LoginNames({ me: { user } }: Part) {
  const { t } = useText()
  return (
    <EditSection
      needs="own"
      title={t("field.login_names")}
      facts={
        <>
          <p className="quiet section-lead">{t("account.login_names_text")}</p>
          <ul className="value-list">
            {user.loginNames.map((name) => (
              <li key={name}>
                <bdi>{name}</bdi>
              </li>
            ))}
          </ul>
        </>
      }
      form={(id, close) => <LoginNameForm {...{ userName: user.userName, id, close }} />}
    />
  )
}

type LoginNameFormProps = Omit<FormPart, "me"> & { readonly userName: string }

function LoginNameForm({ userName, id, close }: LoginNameFormProps) {
  const { t } = useText()
  const form = useForm({
    id,
    initial: { userName },
    refusals: { userName: ["user.name", "user.login_name", "user.username"] },
    save: (values) => {
      const change = call(AuthService.method.updateMyUserName, { userName: values.userName.trim() })
      return unless("user.unchanged", change)
    },
    done: close,
  })
  return (
    <Fields form={form} onCancel={close}>
      <TextField
        label={t("field.login_name")}
        hint={t("account.rename_hint")}
        {...form.text("userName")}
        autoComplete="username"
        autoCapitalize="none"
        spellCheck={false}
        required
      />
    </Fields>
  )
}
