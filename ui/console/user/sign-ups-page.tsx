import {
  type SignUpRequest,
  SignUpService,
} from "../../../src/gen/core/signup/v2/signup_service_pb.ts"
import { ActionButton, ConfirmButton } from "../form/index.ts"
import { actionColumn, Clip, Listing, paginationOf, Time, toPage } from "../list/index.ts"
import { call, notify, Page, t } from "../shell/index.ts"

const { listSignUpRequests, approveSignUpRequest, refuseSignUpRequest } = SignUpService.method

/** Sign-ups that wait for approval, in organizations whose users the caller can manage. */
export function SignUpsPage() {
  const title = t("sign_ups.title")
  return (
    <Page title={title} crumbs={[{ label: t("nav.users"), link: { to: "/users" } }]}>
      <p className="quiet section-lead">{t("sign_ups.lead")}</p>
      <Listing
        caption={title}
        method={listSignUpRequests}
        toRequest={(query) => ({ pagination: paginationOf(query) })}
        find={({ requests, pagination }) => toPage(requests, pagination)}
        keyOf={({ id }) => id}
        unsearched
        columns={[
          { label: t("field.name"), cell: (request) => <Clip text={applicantName(request)} /> },
          { label: t("sign_ups.email"), cell: ({ email }) => <Clip text={email} /> },
          {
            label: t("sign_ups.organization"),
            cell: ({ organizationName }) => <Clip text={organizationName} />,
          },
          { label: t("sign_ups.since"), cell: ({ creationDate }) => <Time at={creationDate} /> },
          {
            label: t("field.expires"),
            cell: ({ expirationDate }) => <Time at={expirationDate} />,
          },
          actionColumn<SignUpRequest>((request) => <RequestActions request={request} />),
        ]}
        empty={<p className="quiet">{t("sign_ups.none")}</p>}
      />
    </Page>
  )
}

const applicantName = ({ givenName, familyName }: SignUpRequest): string =>
  `${givenName} ${familyName}`

function RequestActions({ request }: { readonly request: SignUpRequest }) {
  const { id, email } = request
  return (
    <>
      <ActionButton
        small
        needs={approveSignUpRequest}
        label={t("sign_ups.approve")}
        act={() => call(approveSignUpRequest, { id })}
        done={() => notify({ text: t("sign_ups.approved", { email }) })}
      />
      <ConfirmButton
        small
        needs={refuseSignUpRequest}
        label={t("sign_ups.refuse")}
        subject={email}
        consequence={t("sign_ups.refuse_text")}
        act={() => call(refuseSignUpRequest, { id })}
      />
    </>
  )
}
