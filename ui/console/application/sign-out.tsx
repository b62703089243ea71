import { BackChannelLogoutReach } from "../../../src/gen/core/application/v2/application_pb.ts"
import {
  ApplicationService,
  type GetBackChannelLogoutStatusResponse,
} from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { Check } from "../../kit/index.ts"
import { EditSection, formOf } from "../form/index.ts"
import { Time } from "../list/index.ts"
import { call, Facts, Part, refusedHere, t, useReadIfAllowed } from "../shell/index.ts"
import { changeOidc, type OidcPart } from "./update-application.ts"

const { getBackChannelLogoutStatus, updateApplication } = ApplicationService.method

/** How an application learns that somebody's session has ended elsewhere, and ends one itself. */
export function SignOut(part: OidcPart) {
  return (
    <Part rows={2}>
      <Inside {...part} />
    </Part>
  )
}

function Inside(part: OidcPart) {
  const { applicationId, projectId } = part.application
  const status = useReadIfAllowed(getBackChannelLogoutStatus, { applicationId, projectId })
  return (
    <EditSection
      needs={updateApplication}
      title={t("sign_out.title")}
      facts={<LogoutFacts {...part} status={status} />}
      form={signOutForm(part, status)}
    />
  )
}

type Status = GetBackChannelLogoutStatusResponse | undefined

function LogoutFacts({ oidc, status }: OidcPart & { readonly status: Status }) {
  const front = oidc.frontChannelLogout?.uri ?? ""
  const back = oidc.backChannelLogoutUri
  const backEnd = oidc.backEndLogoutAccepted
  if (back === "" && front === "" && !backEnd) {
    return <p className="quiet section-lead">{t("sign_out.none")}</p>
  }
  const none = <span className="quiet">{t("detail.none")}</span>
  return (
    <Facts
      rows={[
        [t("sign_out.back"), back ? <code key="back">{back}</code> : none],
        [t("sign_out.network"), networkOf(oidc, status)],
        ...(status ? failureRows(status) : []),
        [t("sign_out.front"), front ? <code key="front">{front}</code> : none],
        [t("sign_out.back_end"), backEnd && t("detail.on")],
      ]}
    />
  )
}

function networkOf({ backChannelLogoutUri, ...oidc }: OidcPart["oidc"], status: Status) {
  if (oidc.backChannelLogoutPrivateNetwork) {
    return t("sign_out.allowed", { origin: originOf(backChannelLogoutUri) })
  }
  return status?.reach === BackChannelLogoutReach.PRIVATE_NETWORK && t("sign_out.not_allowed")
}

function failureRows({
  failedNotices,
  lastFailure,
  nextAttempt,
  lastError,
}: GetBackChannelLogoutStatusResponse) {
  if (failedNotices === 0) return []
  return [
    [
      t("sign_out.failed"),
      <span key="failed">
        {t("sign_out.failed_count", { count: failedNotices })} (<Time at={lastFailure} />)
      </span>,
    ],
    [t("sign_out.next"), nextAttempt ? <Time key="next" at={nextAttempt} /> : t("sign_out.over")],
    [t("sign_out.reason"), lastError || t("sign_out.reason_hidden")],
  ] as const
}

const originOf = (uri: string): string => URL.parse(uri.trim())?.origin ?? ""

function signOutForm(part: OidcPart, status: Status) {
  const { oidc } = part
  const allowed = oidc.backChannelLogoutPrivateNetwork ? originOf(oidc.backChannelLogoutUri) : ""
  return formOf({
    initial: {
      back: oidc.backChannelLogoutUri,
      /** The scheme, host and port that are allowed; another address is allowed anew. */
      allowed,
      front: oidc.frontChannelLogout?.uri ?? "",
      session: oidc.frontChannelLogout?.sessionRequired ?? true,
      backEnd: oidc.backEndLogoutAccepted,
    },
    refusals: {
      back: ["app.back_channel_logout_uri_invalid", "app.back_channel_private"],
      front: ["app.front_channel_logout_invalid"],
    },
    save: async ({ session, backEnd, ...values }) => {
      const [back, uri] = [values.back.trim(), values.front.trim()]
      const isAllowed = back !== "" && values.allowed === originOf(back)
      if (back !== "" && back !== oidc.backChannelLogoutUri && !isAllowed) {
        await mustBeReached(part, back)
      }
      return changeOidc(part, {
        backChannelLogoutUri: back,
        backChannelLogoutPrivateNetwork: isAllowed,
        frontChannelLogout: { uri, sessionRequired: uri !== "" && session },
        backEndLogoutAccepted: backEnd,
      })
    },
    fields: ({ text, check, values, put, contested, action }) => {
      const origin = originOf(values.back)
      const isPrivate =
        status?.reach === BackChannelLogoutReach.PRIVATE_NETWORK ||
        action.refusal?.id === privateId ||
        values.allowed !== ""
      return [
        text("back", t("sign_out.back"), { ...address, hint: t("sign_out.back_hint") }),
        isPrivate &&
          origin !== "" &&
          contested(
            "allowed",
            t("sign_out.private"),
            <Check
              label={t("sign_out.private")}
              hint={t("sign_out.private_hint", { origin })}
              checked={values.allowed === origin}
              onChange={(on) => put("allowed", on ? origin : "")}
            />,
          ),
        text("front", t("sign_out.front"), { ...address, hint: t("sign_out.front_hint") }),
        values.front && check("session", t("sign_out.session"), t("sign_out.session_hint")),
        check("backEnd", t("sign_out.back_end"), t("sign_out.back_end_hint")),
      ]
    },
  })
}

const privateId = "app.back_channel_private"

/** Says where a new address leads, to who may allow it; for others it is not looked up. */
async function mustBeReached({ application }: OidcPart, backChannelLogoutUri: string) {
  const { applicationId, projectId } = application
  const asked = { applicationId, projectId, backChannelLogoutUri }
  const { reach } = await call(getBackChannelLogoutStatus, asked)
  if (reach === BackChannelLogoutReach.PRIVATE_NETWORK) throw refusedHere(privateId)
  if (reach === BackChannelLogoutReach.FORBIDDEN) {
    throw refusedHere("app.back_channel_private_never")
  }
}

const address = { optional: true, type: "url", maxLength: 2000 } as const
