import { BackChannelLogoutReach } from "../../../src/gen/core/application/v2/application_pb.ts"
import {
  ApplicationService,
  type GetBackChannelLogoutStatusResponse,
} from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { Check } from "../../kit/index.ts"
import { defineForm, EditSection } from "../form/index.ts"
import { Time } from "../list/index.ts"
import { call, Facts, localError, PagePart, t, useReadIfAllowed } from "../shell/index.ts"
import { type OidcPart, updateOidc } from "./update-application.ts"

const { getBackChannelLogoutStatus, updateApplication } = ApplicationService.method

/** How an application is notified when a session ends, and how it ends sessions itself. */
export function SignOut(part: OidcPart) {
  return (
    <PagePart rows={2}>
      <SignOutSettings {...part} />
    </PagePart>
  )
}

function SignOutSettings(part: OidcPart) {
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

type LogoutStatus = GetBackChannelLogoutStatusResponse | undefined

function LogoutFacts({ oidc, status }: OidcPart & { readonly status: LogoutStatus }) {
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
        [t("sign_out.network"), networkFacts(oidc, status)],
        ...(status ? failureRows(status) : []),
        [t("sign_out.front"), front ? <code key="front">{front}</code> : none],
        [t("sign_out.back_end"), backEnd && t("detail.on")],
      ]}
    />
  )
}

function networkFacts({ backChannelLogoutUri, ...oidc }: OidcPart["oidc"], status: LogoutStatus) {
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

function signOutForm(part: OidcPart, status: LogoutStatus) {
  const { oidc } = part
  const allowed = oidc.backChannelLogoutPrivateNetwork ? originOf(oidc.backChannelLogoutUri) : ""
  return defineForm({
    initial: {
      back: oidc.backChannelLogoutUri,
      /** The allowed scheme, host and port; another origin needs a new permission. */
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
        await confirmPrivateAddress(part, back)
      }
      return updateOidc(part, {
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
        action.refusal?.id === privateAddressErrorId ||
        values.allowed !== ""
      return [
        text("back", t("sign_out.back"), { ...addressInput, hint: t("sign_out.back_hint") }),
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
        text("front", t("sign_out.front"), { ...addressInput, hint: t("sign_out.front_hint") }),
        values.front && check("session", t("sign_out.session"), t("sign_out.session_hint")),
        check("backEnd", t("sign_out.back_end"), t("sign_out.back_end_hint")),
      ]
    },
  })
}

const privateAddressErrorId = "app.back_channel_private"

/**
 * Warns about the network of a new URL if the caller can allow it; others don't get it resolved.
 */
async function confirmPrivateAddress({ application }: OidcPart, backChannelLogoutUri: string) {
  const { applicationId, projectId } = application
  const request = { applicationId, projectId, backChannelLogoutUri }
  const { reach } = await call(getBackChannelLogoutStatus, request)
  if (reach === BackChannelLogoutReach.PRIVATE_NETWORK) throw localError(privateAddressErrorId)
  if (reach === BackChannelLogoutReach.FORBIDDEN) {
    throw localError("app.back_channel_private_never")
  }
}

const addressInput = { optional: true, type: "url", maxLength: 2000 } as const
