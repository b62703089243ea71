import type { Commands } from "../../boot/control.ts"
import {
  confirmRequest,
  type UserImportRequest,
  type UserResult,
  type UserTransfer,
  userExportRequest,
  userImportRequest,
} from "../../boot/users/messages.ts"
import type { TransferUser } from "../../boot/users/user.ts"
import { requireInstance } from "../../domain/instance/index.ts"
import { orgExists } from "../../domain/org/index.ts"
import { confirmEmails } from "../../domain/user-lookup/index.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import { createOperatorCall, createSessions, type TransferServices } from "./transfer-session.ts"

/** The number of users in a part of an export; creating a part blocks other requests. */
const partUsersMax = 25

type ImportSession = { readonly cx: Cx; taken: number; refused: number }

/** Exports and imports the users of an organization, for the operator. */
export function createUserTransfer(services: TransferServices): UserTransfer {
  const taking = createSessions<ImportSession>(services)
  const telling = createSessions<AsyncIterator<TransferUser>>(services)
  return {
    takePeople: async (request) => {
      const api = await import("../../domain/transfer/api.ts")
      const [session, work] = taking.open(request.session, () => startImport(services, request))
      const { orgId, projectId } = request
      const outcomes = await taking.whole(session, () =>
        api.importUsers(work.cx, { orgId: findOrg(work.cx, orgId), projectId }, request.people),
      )
      work.taken += countResults(outcomes, "taken")
      work.refused += countResults(outcomes, "refused")
      if (request.isLast) {
        taking.close(session)
        if (!request.dryRun && work.taken > 0) await api.recordImport(work.cx, 1, work)
      }
      return { session, outcomes: [...outcomes] }
    },
    tellPeople: async (request) => {
      const api = await import("../../domain/transfer/api.ts")
      const cx = createOperatorCall(services, request.instance)
      const home = { orgId: findOrg(cx, request.orgId), projectId: request.projectId }
      const { withPasswords, withOtp } = request
      const carried = { withPasswords, withOtp, withSecrets: false }
      if (request.session === undefined) await api.recordExport(cx, carried, 1)
      const [session, all] = telling.open(request.session, () => api.exportUsers(cx, home, carried))
      const people: TransferUser[] = []
      while (people.length < partUsersMax) {
        const { value, done } = await all.next()
        if (done) {
          telling.close(session)
          return { people }
        }
        people.push(value)
      }
      return { people, session }
    },
    confirmEmails: async ({ instance, orgId, dryRun: isTrial }) => {
      const cx = createOperatorCall(services, instance)
      if (orgId !== undefined) findOrg(cx, orgId)
      const { userIds, ...counts } = await confirmEmails(cx, { orgId, isTrial })
      return { ...counts, userIds: [...userIds] }
    },
  }
}

function startImport(
  services: TransferServices,
  { instance, dryRun }: UserImportRequest,
): ImportSession {
  const cx = createOperatorCall(services, instance)
  return { cx: dryRun ? { ...cx, store: cx.store.rehearse() } : cx, taken: 0, refused: 0 }
}

const countResults = (outcomes: readonly UserResult[], became: UserResult["became"]) =>
  outcomes.filter((each) => each.became === became).length

function findOrg(cx: Cx, requestedId: string | undefined): string {
  const id = requestedId ?? requireInstance(cx).defaultOrgId
  if (orgExists(cx, id)) return id
  const message = `organization ${JSON.stringify(id)} not found; name another one with --org`
  throw new Fault("not_found", "org.missing", message)
}

/** The same as commands of a running server. */
export function createUserControl(services: TransferServices): Commands {
  const { takePeople, tellPeople, confirmEmails: confirm } = createUserTransfer(services)
  return {
    "users-import": (input) => takePeople(userImportRequest.parse(input)),
    "users-export": (input) => tellPeople(userExportRequest.parse(input)),
    "users-confirm-emails": (input) => confirm(confirmRequest.parse(input)),
  }
}
