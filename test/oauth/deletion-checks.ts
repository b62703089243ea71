// The rows of docs/reference/deletion.tsv: whether each of them still works, or is still stored.

import { apps } from "../../src/domain/app/view.ts"
import { assignmentsOf } from "../../src/domain/app-access/index.ts"
import { publicFile } from "../../src/domain/asset/index.ts"
import { listRolesByOrg, listRolesFromGroups } from "../../src/domain/authorization/index.ts"
import { connectedApps } from "../../src/domain/grant/index.ts"
import { findIdpById } from "../../src/domain/idp/index.ts"
import { findInstanceByDomain } from "../../src/domain/instance/host.ts"
import { listMemberships } from "../../src/domain/member/index.ts"
import { orgs } from "../../src/domain/org/view.ts"
import * as project from "../../src/domain/project/index.ts"
import { users } from "../../src/domain/user-lookup/view.ts"
import { type Searchable, search } from "../../src/store/index.ts"
import { encodeBasic } from "./clients.ts"
import {
  appIdsOf,
  codeIn,
  credentials,
  failedFrom,
  host,
  isClientIdTaken,
  isDomainTaken,
  proofOf,
  type Subject,
  type Subjects,
} from "./deletion-subject.ts"
import { browserOf, sendTokenRequest } from "./provider.ts"

export type Kind = "user" | "organization" | "project" | "application" | "provider" | "instance"

type Case = { readonly subjects: Subjects; readonly subject: Subject; readonly kind: Kind }
type ResourceCheck = (each: Case) => boolean | Promise<boolean>

/** All of one resource must have the same result; different results need separate rows. */
async function allOf(answers: readonly (boolean | Promise<boolean>)[]): Promise<boolean> {
  const all = new Set(await Promise.all(answers))
  const [answer, ...others] = all
  if (answer === undefined || others.length > 0) throw new Error("some work, and others do not")
  return answer
}

const isAccepted = async ({ provider }: Subjects, token: string): Promise<boolean> => {
  const headers = { authorization: `Bearer ${token}` }
  return (await provider.send("/oidc/v1/userinfo", { headers })).status === 200
}

const isGranted = async (
  { provider }: Subjects,
  fields: Readonly<Record<string, string>>,
  basic?: string,
): Promise<boolean> => (await sendTokenRequest(provider, fields, basic)).status === 200

async function authenticates(
  { provider }: Subjects,
  { basic = "", fields = {} }: { readonly basic?: string; readonly fields?: object },
): Promise<boolean> {
  const headers: Record<string, string> =
    basic === "" ? {} : { authorization: `Basic ${Buffer.from(basic).toString("base64")}` }
  const body = new URLSearchParams({ token: "none", ...fields })
  const init = { method: "POST", body, headers }
  return (await provider.send("/oauth/v2/introspect", init)).status === 200
}

async function isListed({ subjects, subject, kind }: Case): Promise<boolean> {
  const cx = subjects.provider.cx()
  const page = { limit: 1000, offset: 0, asc: true }
  const has = async (searchable: Searchable, ids: readonly string[]) => {
    const { rows } = await search<{ readonly id: string }>(cx, searchable, { page, filters: [] })
    return allOf(ids.map((id) => rows.some((row) => row.id === id)))
  }
  switch (kind) {
    case "user":
      return has(users, [subject.userId, subject.robot.userId])
    case "organization":
      return has(orgs, [subject.orgId])
    case "project":
      return has(project.projects, [subject.projectId])
    case "application":
      return has(apps, appIdsOf(subject))
    case "provider":
      return findIdpById(cx, subject.idpId) !== undefined
    case "instance":
      return has(users, [subject.userId, subject.robot.userId])
  }
}

/** Whether the name of the deleted resource can't be reused. */
async function isNameTaken({ subjects: { provider }, subject, kind }: Case): Promise<boolean> {
  switch (kind) {
    case "organization":
      return isDomainTaken(provider, `${subject.name}.${host}`)
    case "application":
      return isClientIdTaken(provider, subject.client.id)
    case "instance":
      return findInstanceByDomain(provider.store, host) !== undefined
    default:
      return provider.addPerson(subject.name).then(
        () => false,
        () => true,
      )
  }
}

async function isStored({ subjects: { provider }, subject }: Case): Promise<boolean> {
  const events = await provider.store.log.read(0, 100_000)
  return events.some(({ id, private: data }) => id === subject.userId && data !== null)
}

/** Events of failed sign-ins have their own streams, with the ID of the user. */
async function isOriginStored({ subjects: { provider }, subject }: Case): Promise<boolean> {
  const events = await provider.store.log.read(0, 100_000)
  return events.some(
    ({ id, type, private: data }) =>
      id === subject.userId &&
      type === "user.human.password.check.failed" &&
      JSON.stringify(data).includes(failedFrom.address),
  )
}

/** The checks by the first column of the table. */
export const resourceChecks: Readonly<Record<string, ResourceCheck>> = {
  sign_in: async ({ subject }) => codeIn(await subject.signIn(subject.client)) !== undefined,
  session: async ({ subjects, subject }) => (await subject.again(subjects.other)) !== undefined,
  access_token: ({ subjects, subject }) =>
    allOf(subject.accessTokens.map((token) => isAccepted(subjects, token))),
  refresh_token: ({ subjects, subject: { client, refreshToken } }) => {
    const fields = { grant_type: "refresh_token", refresh_token: refreshToken }
    return isGranted(subjects, fields, `${client.id}:${client.secret}`)
  },
  code: async ({ subjects, subject: { client, code } }) =>
    (await subjects.redeem(client, code)).status === 200,
  consent: ({ subjects: { provider }, subject: { userId, registered } }) =>
    connectedApps(provider.cx(), userId).some(
      ({ appId, consentUntil }) => appId === registered.appId && consentUntil !== undefined,
    ),
  client_secret: async ({ subjects, subject }) => {
    const { client } = subject
    const fields = await proofOf(subjects.provider, subject)
    return allOf([
      authenticates(subjects, { basic: `${client.id}:${client.secret}` }),
      authenticates(subjects, { fields }),
    ])
  },
  machine_token: ({ subjects, subject }) => isAccepted(subjects, subject.machineToken),
  machine_secret: async ({ subjects, subject: { robot } }) =>
    isGranted(subjects, credentials, encodeBasic(robot.id, robot.secret)),
  personal_token: ({ subjects, subject }) => isAccepted(subjects, subject.personalToken),
  link: async ({ subjects, subject }) =>
    codeIn(await subject.atProvider(subjects.other)) !== undefined,
  sign_up_link: async ({ subjects: { provider }, subject: { name, signUpUrl } }) => {
    const { pathname, search: query, hash } = new URL(signUpUrl)
    const browser = browserOf(provider)
    const opened = await browser.go(`${pathname}${query}`)
    if (opened.response.status !== 200) return false
    const form = await browser.post(opened, { code: hash.slice(1) })
    return form.page.includes(`You are joining ${name}`)
  },
  sign_up_request: async ({ subjects: { provider }, subject: { signUpId } }) => {
    const events = await provider.store.log.read(0, 100_000)
    return events.some(({ id, private: data }) => id === signUpId && data !== null)
  },
  role: ({ subjects: { provider }, subject: { userId, projectId } }) =>
    listRolesByOrg(provider.cx(), userId, projectId).some(({ keys }) => keys.includes("editor")),
  group_role: ({ subjects: { provider }, subject: { userId, projectId } }) =>
    listRolesFromGroups(provider.cx(), userId, projectId).some(({ keys }) =>
      keys.includes("editor"),
    ),
  assignment: ({ subjects: { provider }, subject: { userId, client } }) =>
    assignmentsOf(provider.cx(), client.appId).userIds.includes(userId),
  manager_role: ({ subjects: { provider }, subject: { userId } }) =>
    listMemberships(provider.cx(), userId).length > 0,
  name: isNameTaken,
  list: isListed,
  file: ({ subjects: { provider }, subject }) => {
    const file = publicFile(provider.cx(), subject.avatarPath)
    return file !== undefined && file !== "nothing"
  },
  personal_data: isStored,
  failed_sign_in: isOriginStored,
}
