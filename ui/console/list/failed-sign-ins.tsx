import {
  ActivityService,
  FailedCheck,
  type FailedSignIn,
} from "../../../src/gen/core/activity/v2/activity_service_pb.ts"
import { Badge } from "../../kit/index.ts"
import { t } from "../shell/index.ts"
import { SectionList, toPage } from "./listing.tsx"
import { BrowserOrigin } from "./sign-in-origin.tsx"
import { Time } from "./time.tsx"

type Row = FailedSignIn & { readonly at: number }

/** Failed sign-ins to an account, with the failed check and the origin. */
export function FailedSignIns({ userId }: { readonly userId: string }) {
  return (
    <SectionList
      name="failed"
      title={t("failed.title")}
      none={t("failed.empty")}
      unsearched
      method={ActivityService.method.listFailedSignIns}
      toRequest={({ offset, limit }) => ({ userId, pagination: { offset, limit } })}
      find={({ failedSignIns, pagination }) => {
        const rows = failedSignIns.map((failed, at) => ({ ...failed, at }))
        return toPage<Row>(rows, pagination)
      }}
      columns={[
        { label: t("history.when"), cell: ({ creationDate }) => <Time at={creationDate} /> },
        {
          label: t("failed.what"),
          cell: ({ check }: Row) => t(`failed.check.${checkName(check)}`),
        },
        { label: t("failed.from"), cell: (failed: Row) => <FailedSignInOrigin failed={failed} /> },
      ]}
      keyOf={({ at }) => String(at)}
    />
  )
}

const checkNames = [
  [FailedCheck.TOTP, "totp"],
  [FailedCheck.OTP_EMAIL, "otp_email"],
  [FailedCheck.OTP_SMS, "otp_sms"],
  [FailedCheck.RECOVERY_CODE, "recovery_code"],
  [FailedCheck.SECURITY_KEY, "security_key"],
  [FailedCheck.PASSKEY, "passkey"],
] as const

const checkName = (check: FailedCheck) =>
  checkNames.find(([each]) => each === check)?.[1] ?? "password"

function FailedSignInOrigin({ failed }: { readonly failed: FailedSignIn }) {
  const { userAgent, address, knownDevice } = failed
  return (
    <>
      <BrowserOrigin userAgent={userAgent} address={address} />
      {knownDevice !== undefined && (
        <p className="small">
          {knownDevice ? t("failed.known") : <Badge tone="warning">{t("failed.unknown")}</Badge>}
        </p>
      )}
    </>
  )
}
