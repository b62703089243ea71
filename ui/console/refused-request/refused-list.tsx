import { lazyRouteComponent } from "@tanstack/react-router"
import { Fragment } from "react"
import type {
  Finding,
  RefusedRequest,
} from "../../../src/gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { sentenceOf } from "../../kit/index.ts"
import { Time } from "../list/index.ts"
import { Copyable, Facts, has, Link, Part, t } from "../shell/index.ts"
import { Compared } from "./comparison.tsx"

/** It knows how applications are changed, and few refusals are about an address. */
const AddRedirectUri = lazyRouteComponent(
  () => import("../application/add-redirect-uri.tsx"),
  "AddRedirectUri",
)

const RegisterResource = lazyRouteComponent(
  () => import("../application/register-resource.tsx"),
  "RegisterResource",
)

type RefusedListProps = {
  readonly requests: readonly RefusedRequest[]
  /** On the application's own page nobody needs to be told which one it was. */
  readonly within?: "application"
}

/** Refused requests, each with its probable cause as the headline; the newest is open. */
export function RefusedList({ requests, within }: RefusedListProps) {
  if (requests.length === 0) return null
  return (
    <div className="refused-list">
      {requests.map((request, at) => (
        <Refused
          key={request.requestId}
          request={request}
          open={at === 0}
          isNamed={within !== "application"}
        />
      ))}
    </div>
  )
}

type RefusedProps = {
  readonly request: RefusedRequest
  readonly open: boolean
  readonly isNamed: boolean
}

function Refused({ request, open, isNamed }: RefusedProps) {
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
          <Found
            key={finding.subject}
            finding={finding}
            isSaid={finding === mainOf(request)}
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
function Cause({ finding }: Pick<FoundProps, "finding">) {
  const { subject, likelyCause, likelyCauseKey } = finding
  const key = `cause.${likelyCauseKey}`
  return has(key) ? t(key, { subject }) : <span lang="en">{likelyCause}</span>
}

type FoundProps = {
  readonly finding: Finding
  readonly isSaid: boolean
  readonly applicationId: string
}

function Found({ finding, isSaid, applicationId }: FoundProps) {
  const { likelyCause, subject, received } = finding
  return (
    <div className="finding">
      <div>
        <code>{subject}</code>
        {likelyCause && !isSaid && (
          <p className="small">
            <Cause finding={finding} />
          </p>
        )}
      </div>
      <Compared finding={finding} />
      {subject === "redirect_uri" && received && applicationId && (
        <Part rows={1}>
          <AddRedirectUri applicationId={applicationId} uri={received} />
        </Part>
      )}
      {finding.likelyCauseKey === "resource.unknown" && applicationId && (
        <Part rows={1}>
          <RegisterResource applicationId={applicationId} uri={received} />
        </Part>
      )}
    </div>
  )
}

function About({ request, isNamed }: Omit<RefusedProps, "open">) {
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
