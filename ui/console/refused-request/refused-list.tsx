import { type ComponentType, Fragment } from "react"
import type {
  Finding,
  RefusedRequest,
} from "../../../src/gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { toSentence } from "../../kit/index.ts"
import { Time } from "../list/index.ts"
import { Copyable, Facts, has, Link, t } from "../shell/index.ts"
import { Comparison } from "./comparison.tsx"

/** A finding of a rejected request of an application. */
export type FindingOfApplication = { readonly finding: Finding; readonly applicationId: string }

type RefusedListProps = {
  readonly requests: readonly RefusedRequest[]
  /** Offers to change the application so that a finding no longer applies. */
  readonly Remedy: ComponentType<FindingOfApplication>
  /** The application name is hidden on the application's own page. */
  readonly within?: "application"
}

/** Rejected requests with their likely cause as headline; the newest is expanded. */
export function RefusedList({ requests, Remedy, within }: RefusedListProps) {
  if (requests.length === 0) return null
  return (
    <div className="refused-list">
      {requests.map((request, at) => (
        <Request
          key={request.requestId}
          request={request}
          Remedy={Remedy}
          open={at === 0}
          isNamed={within !== "application"}
        />
      ))}
    </div>
  )
}

type RequestProps = Pick<RefusedListProps, "Remedy"> & {
  readonly request: RefusedRequest
  readonly open: boolean
  readonly isNamed: boolean
}

function Request({ request, Remedy, open, isNamed }: RequestProps) {
  const { applicationName, endpoint, creationDate } = request
  return (
    <details className="refused" open={open}>
      <summary>
        <span className="refused-cause">
          <RequestHeadline request={request} />
        </span>
        <span className="refused-about">
          {isNamed && <span>{applicationName || t("refused.nobody")}</span>}
          <code>{endpoint}</code>
          <Time at={creationDate} />
        </span>
      </summary>
      <div className="refused-body">
        {request.findings.map((finding) => (
          <FindingDetails
            key={finding.subject}
            finding={finding}
            Remedy={Remedy}
            isHeadline={finding === findMainFinding(request)}
            applicationId={request.applicationId}
          />
        ))}
        <RequestDetails request={request} isNamed={isNamed} />
      </div>
    </details>
  )
}

/** The finding for the headline. */
const findMainFinding = ({ findings }: RefusedRequest): Finding | undefined =>
  findings.find(({ likelyCause }) => likelyCause !== "")

/** The likely cause, otherwise the error. */
function RequestHeadline({ request }: { readonly request: RefusedRequest }) {
  const main = findMainFinding(request)
  if (main) return <CauseText finding={main} />
  const key = `refused.error.${request.error}`
  if (has(key)) return t(key)
  return <span lang="en">{toSentence(request.description || request.error)}</span>
}

/** Translated if the catalog contains the cause, otherwise the server's text. */
function CauseText({ finding }: { readonly finding: Finding }) {
  const { subject, likelyCause, likelyCauseKey } = finding
  const key = `cause.${likelyCauseKey}`
  return has(key) ? t(key, { subject }) : <span lang="en">{likelyCause}</span>
}

type FindingDetailsProps = FindingOfApplication &
  Pick<RefusedListProps, "Remedy"> & { readonly isHeadline: boolean }

function FindingDetails({ finding, Remedy, isHeadline, applicationId }: FindingDetailsProps) {
  const { likelyCause, subject } = finding
  return (
    <div className="finding">
      <div>
        <code>{subject}</code>
        {likelyCause && !isHeadline && (
          <p className="small">
            <CauseText finding={finding} />
          </p>
        )}
      </div>
      <Comparison finding={finding} />
      {applicationId && <Remedy finding={finding} applicationId={applicationId} />}
    </div>
  )
}

function RequestDetails({ request, isNamed }: Pick<RequestProps, "request" | "isNamed">) {
  const { applicationId, applicationName, requestId, clientId, error, description } = request
  const isFound = request.findings.some(({ subject }) => subject === "client_id")
  return (
    <Facts
      rows={[
        [
          t("search.application"),
          isNamed && applicationId && (
            <Link key="app" to="/applications/$applicationId" params={{ applicationId }}>
              {applicationName}
            </Link>
          ),
        ],
        [
          t("field.client_id"),
          !applicationId && clientId && !isFound && <code key="client">{clientId}</code>,
        ],
        [
          t("refused.told"),
          <Fragment key="told">
            <code>{error}</code>
            {description && <span lang="en">{description}</span>}
          </Fragment>,
        ],
        [
          t("field.request_id"),
          <Copyable key="id" value={requestId} description={t("field.request_id")} />,
        ],
      ]}
    />
  )
}
