import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { useState } from "react"
import {
  type CreateSignUpLinkResponse,
  type SignUpLink,
  SignUpLinkState,
  SignUpService,
} from "../../../src/gen/core/signup/v2/signup_service_pb.ts"
import { Badge } from "../../kit/index.ts"
import { ConfirmButton, DialogButton, defineForm, linesOf } from "../form/index.ts"
import { actionColumn, LinkBox, Listing, paginationOf, Time, toPage } from "../list/index.ts"
import { call, Section, type TextKey, t } from "../shell/index.ts"

const { createSignUpLink, listSignUpLinks, revokeSignUpLink } = SignUpService.method
const dayMs = 86_400_000

/** Links with which users create their own accounts in an organization. */
export function SignUpLinks({ organizationId }: { readonly organizationId: string }) {
  const [created, setCreated] = useState<CreateSignUpLinkResponse>()
  const title = t("sign_up_links.title")
  const add = (
    <DialogButton
      family="sign_up_links"
      form={linkForm(organizationId, setCreated)}
      needs={createSignUpLink}
      label={t("sign_up_links.create")}
    />
  )
  const empty = <p className="quiet section-lead">{t("sign_up_links.empty")}</p>
  return (
    <Listing
      name="sign_up_links"
      caption={title}
      method={listSignUpLinks}
      toRequest={(query) => ({
        organizationId,
        pagination: { ...paginationOf(query), asc: false },
      })}
      find={({ links, pagination }) => toPage(links, pagination)}
      keyOf={({ id }) => id}
      unsearched
      size={10}
      columns={[
        { label: t("field.created"), cell: (link) => <Time at={link.creationDate} /> },
        { label: t("field.state"), cell: (link) => <LinkState link={link} /> },
        { label: t("sign_up_links.uses"), cell: formatUses },
        { label: t("sign_up_links.last_use"), cell: (link) => <Time at={link.lastUseDate} /> },
        { label: t("field.expires"), cell: (link) => <Time at={link.expirationDate} /> },
        { label: t("sign_up_links.domains"), cell: (link) => link.allowedDomains.join(", ") },
        actionColumn<SignUpLink>((link) => (
          <RevokeButton link={link} done={() => created?.id === link.id && setCreated(undefined)} />
        )),
      ]}
      empty={empty}
      frame={(list) => (
        <Section title={title} actions={add}>
          {created && (
            <div className="stack">
              <p>{t("sign_up_links.once")}</p>
              <LinkBox link={created.url} description={title} qr={t("sign_up_links.qr")} />
            </div>
          )}
          {list}
        </Section>
      )}
    />
  )
}

const formatUses = ({ uses, useLimit }: SignUpLink): string =>
  t("sign_up_links.used", { uses, limit: useLimit })

type SignUpLinkProps = { readonly link: SignUpLink }

function LinkState({ link: { state, requireApproval } }: SignUpLinkProps) {
  const isActive = state === SignUpLinkState.ACTIVE
  return (
    <span className="badges">
      <Badge tone={isActive ? "done" : "quiet"}>{t(endReasons[state] ?? "filter.active")}</Badge>
      {requireApproval && <Badge>{t("sign_up_links.with_approval")}</Badge>}
    </span>
  )
}

/** Why a link can't be used any more. */
const endReasons: Readonly<Partial<Record<SignUpLinkState, TextKey>>> = {
  [SignUpLinkState.EXPIRED]: "sign_up_links.expired",
  [SignUpLinkState.USED_UP]: "sign_up_links.used_up",
  [SignUpLinkState.REVOKED]: "sign_up_links.revoked",
}

function RevokeButton({ link, done }: SignUpLinkProps & { readonly done: () => unknown }) {
  if (link.state !== SignUpLinkState.ACTIVE) return null
  return (
    <ConfirmButton
      small
      needs={revokeSignUpLink}
      label={t("sign_up_links.revoke")}
      subject={formatUses(link)}
      consequence={t("sign_up_links.revoke_text")}
      act={() => call(revokeSignUpLink, { id: link.id })}
      done={done}
    />
  )
}

const toDay = (time: number) => new Date(time).toISOString().slice(0, 10)

const linkForm = (organizationId: string, onCreated: (created: CreateSignUpLinkResponse) => void) =>
  defineForm({
    initial: { useLimit: "10", until: toDay(Date.now() + 7 * dayMs), domains: "", approval: false },
    refusals: { until: ["expirationDate"], domains: ["allowedDomains"] },
    save: ({ useLimit, until, domains, approval }) =>
      call(createSignUpLink, {
        organizationId,
        useLimit: Number(useLimit),
        expirationDate: timestampFromMs(Date.parse(until)),
        allowedDomains: linesOf(domains),
        requireApproval: approval,
      }),
    done: (created, close) => {
      onCreated(created)
      close()
    },
    fields: ({ text, area, check }) => [
      text("useLimit", t("sign_up_links.limit"), {
        hint: t("sign_up_links.limit_hint"),
        type: "number",
        min: "1",
        max: "10000",
        required: true,
      }),
      text("until", t("keys.until"), {
        hint: t("sign_up_links.until_hint"),
        type: "date",
        min: toDay(Date.now() + dayMs),
        required: true,
      }),
      area("domains", t("sign_up_links.domains"), {
        hint: t("sign_up_links.domains_hint"),
        placeholder: "example.com",
        rows: 3,
        spellCheck: false,
        optional: true,
      }),
      check("approval", t("sign_up_links.approval"), t("sign_up_links.approval_hint")),
    ],
  })
