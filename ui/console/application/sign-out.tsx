import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { Check } from "../../kit/check.tsx"
import { TextField } from "../../kit/field.tsx"
import { EditSection, Fields } from "../form/form.tsx"
import { useForm } from "../form/use-form.ts"
import { Facts } from "../shell/detail.tsx"
import { useText } from "../shell/text.ts"
import { changeOidc, type OidcForm, type OidcPart } from "./change.ts"

/** How an application learns that somebody's session has ended elsewhere. */
export function SignOut(part: OidcPart) {
  const { t } = useText()
  return (
    <EditSection
      needs={ApplicationService.method.updateApplication}
      title={t("sign_out.title")}
      facts={<Told {...part} />}
      form={(id, close) => <SignOutForm {...part} {...{ id, close }} />}
    />
  )
}

function Told({ oidc }: OidcPart) {
  const { t } = useText()
  const front = oidc.frontChannelLogout?.uri ?? ""
  const back = oidc.backChannelLogoutUri
  if (back === "" && front === "") {
    return <p className="quiet section-lead">{t("sign_out.none")}</p>
  }
  const none = <span className="quiet">{t("detail.none")}</span>
  return (
    <Facts
      rows={[
        [t("sign_out.back"), back ? <code key="back">{back}</code> : none],
        [t("sign_out.front"), front ? <code key="front">{front}</code> : none],
      ]}
    />
  )
}

function SignOutForm({ id, close, ...part }: OidcForm) {
  const { t } = useText()
  const { oidc } = part
  const form = useForm({
    id,
    initial: {
      back: oidc.backChannelLogoutUri,
      front: oidc.frontChannelLogout?.uri ?? "",
      session: oidc.frontChannelLogout?.sessionRequired ?? true,
    },
    refusals: {
      back: ["app.back_channel_logout_uri_invalid"],
      front: ["app.front_channel_logout_invalid"],
    },
    save: ({ session, ...values }) => {
      const [back, uri] = [values.back.trim(), values.front.trim()]
      const frontChannelLogout = { uri, sessionRequired: uri !== "" && session }
      return changeOidc(part, { backChannelLogoutUri: back, frontChannelLogout })
    },
    done: close,
  })
  return (
    <Fields form={form} onCancel={close}>
      <TextField
        label={t("sign_out.back")}
        optional={t("form.optional")}
        hint={t("sign_out.back_hint")}
        type="url"
        {...form.text("back")}
        maxLength={2000}
      />
      <TextField
        label={t("sign_out.front")}
        optional={t("form.optional")}
        hint={t("sign_out.front_hint")}
        type="url"
        {...form.text("front")}
        maxLength={2000}
      />
      {form.values.front && (
        <Check
          label={t("sign_out.session")}
          hint={t("sign_out.session_hint")}
          checked={form.values.session}
          onChange={(session) => form.change({ session })}
        />
      )}
    </Fields>
  )
}
