import { type ComponentType, Fragment } from "react"
import type {
  Finding,
  RefusedRequest,
} from "../../../src/gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { sentenceOf } from "../../kit/index.ts"
import { Time } from "../list/index.ts"
import { Copyable, Facts, has, Link, t } from "../shell/index.ts"
import { Comparison } from "./comparison.tsx"

/** One finding of a refused request of an application. */
export type FindingOfApplication = { readonly finding: Finding; readonly applicationId: string }

type RefusedListProps = {
  readonly requests: readonly RefusedRequest[]
  /** Offers to change the application so that a finding no longer applies. */
  readonly Remedy: ComponentType<FindingOfApplication>
  /** On the application's own page its name is left out. */
  readonly within?: "application"
}

/** Refused requests, each with its probable cause as the headline; the newest is open. */
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
          <Headline request={request} />
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
            isHeadline={finding === mainOf(request)}
            applicationId={request.applicationId}
          />
        ))}
        <About request={request} isNamed={isNamed} />
      </div>
    </details>
  )
}

/** The finding that a refusal is headed with. */
const mainOf = ({ findings }: RefusedRequest): Finding | undefined =>
  findings.find(({ likelyCause }) => likelyCause !== "")

/** The likely cause; without one, what went wrong. */
function Headline({ request }: { readonly request: RefusedRequest }) {
  const main = mainOf(request)
  if (main) return <Cause finding={main} />
  const key = `refused.error.${request.error}`
  if (has(key)) return t(key)
  return <span lang="en">{sentenceOf(request.description || request.error)}</span>
}

/** In the reader's language where the catalogue knows the cause, else in the server's words. */
function Cause({ finding }: { readonly finding: Finding }) {
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
            <Cause finding={finding} />
          </p>
        )}
      </div>
      <Comparison finding={finding} />
      {applicationId && <Remedy finding={finding} applicationId={applicationId} />}
    </div>
  )
}

function About({ request, isNamed }: Pick<RequestProps, "request" | "isNamed">) {
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
          <Copyable key="id" value={requestId} what={t("field.request_id")} />,
        ],
      ]}
    />
  )
}
