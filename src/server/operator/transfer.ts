import type { Commands } from "../../boot/control.ts"
import type { StartInput } from "../../boot/running.ts"
import {
  type ExportRequest,
  exportRequest,
  type ImportRequest,
  importRequest,
  type OrganizationTransfer,
} from "../../boot/transfer/messages.ts"
import type { UserTransfer } from "../../boot/users/messages.ts"
import type { Cx } from "../../store/index.ts"
import { joinServices } from "../services.ts"
import { createOperatorCall, createSessions, type TransferServices } from "./transfer-session.ts"
import { createUserControl, createUserTransfer } from "./users.ts"

/** The number of characters in a part of an export; creating a part blocks other requests. */
const partCharactersMax = 64_000

type ExportSession = AsyncGenerator<string>
type ImportSession = {
  readonly cx: Cx
  readonly createdOrgs: Set<string>
  taken: number
  refused: number
}

/** Exports and imports organizations, for the operator. */
export function createTransfer(services: TransferServices): OrganizationTransfer {
  const exporting = createSessions<ExportSession>(services)
  const importing = createSessions<ImportSession>(services)
  return {
    tell: async (request) => {
      const lines: string[] = []
      const api = await import("../../domain/transfer/api.ts")
      const [id, source] = exporting.open(request.session, () =>
        api.exportLines(createOperatorCall(services, request.instance), exportScopeOf(request)),
      )
      for (let letters = 0; letters < partCharactersMax; ) {
        const { value, done } = await source.next()
        if (done) {
          exporting.close(id)
          return { lines }
        }
        lines.push(value)
        letters += value.length
      }
      return { lines, session: id }
    },
    take: async (request) => {
      const api = await import("../../domain/transfer/api.ts")
      const [session, work] = importing.open(request.session, () => startImport(services, request))
      const { taken, refused } = await api.importLines(work.cx, {
        ...request,
        createdOrgs: work.createdOrgs,
      })
      work.taken += taken
      work.refused += refused.length
      if (request.isLast) {
        importing.close(session)
        if (!request.dryRun) await api.recordImport(work.cx, work.createdOrgs.size, work)
      }
      return { session, taken, refused: [...refused] }
    },
  }
}

function startImport(
  services: TransferServices,
  { instance, dryRun }: ImportRequest,
): ImportSession {
  const cx = createOperatorCall(services, instance)
  const here = dryRun ? { ...cx, store: cx.store.rehearse() } : cx
  return { cx: here, createdOrgs: new Set(), taken: 0, refused: 0 }
}

const exportScopeOf = ({ orgIds, withPasswords, withOtp, withSecrets }: ExportRequest) => ({
  orgIds,
  excludedOrgIds: [],
  carried: { withPasswords, withOtp, withSecrets },
})

/** The same as commands of a running server. */
export function createTransferControl(services: TransferServices): Commands {
  const { tell, take } = createTransfer(services)
  return {
    export: (input) => tell(exportRequest.parse(input)),
    import: (input) => take(importRequest.parse(input)),
    ...createUserControl(services),
  }
}

/** Transfers without a server: opens the store, runs the work, closes it. */
export async function withLocalTransfer<T>(
  start: StartInput,
  work: (carrier: OrganizationTransfer & UserTransfer) => Promise<T>,
): Promise<T> {
  const services = await joinServices(start)
  try {
    return await work({ ...createTransfer(services), ...createUserTransfer(services) })
  } finally {
    await services.store.close()
  }
}
