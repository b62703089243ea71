import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { EditSection, formOf } from "../form/index.ts"
import { Facts, t } from "../shell/index.ts"
import { changeOidc, type OidcPart } from "./change.ts"

/** How an application learns that somebody's session has ended elsewhere. */
export function SignOut(part: OidcPart) {
  return (
    <EditSection
      needs={ApplicationService.method.updateApplication}
      title={t("sign_out.title")}
      facts={<Told {...part} />}
      form={signOutForm(part)}
    />
  )
}

function Told({ oidc }: OidcPart) {
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

const signOutForm = (part: OidcPart) =>
  formOf({
    initial: {
      back: part.oidc.backChannelLogoutUri,
      front: part.oidc.frontChannelLogout?.uri ?? "",
      session: part.oidc.frontChannelLogout?.sessionRequired ?? true,
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
    fields: ({ text, check, values }) => [
      text("back", t("sign_out.back"), { ...address, hint: t("sign_out.back_hint") }),
      text("front", t("sign_out.front"), { ...address, hint: t("sign_out.front_hint") }),
      values.front && check("session", t("sign_out.session"), t("sign_out.session_hint")),
    ],
  })

const address = { optional: true, type: "url", maxLength: 2000 } as const
