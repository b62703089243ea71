import type { Commands } from "../../boot/control.ts"
import {
  confirmAsked,
  type PeopleCarrier,
  type PersonOutcome,
  type TakeAsked,
  takeAsked,
  tellAsked,
} from "../../boot/people/part.ts"
import type { Person } from "../../boot/people/person.ts"
import { requireInstance } from "../../domain/instance/index.ts"
import { isOrgThere } from "../../domain/org/index.ts"
import { confirmEmails } from "../../domain/user-lookup/index.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import { callOn, type Lent, sessionsOf } from "./session.ts"

/** People of one part of an export, while which is made nobody else is answered. */
const partPeople = 25

type Taking = { readonly cx: Cx; taken: number; refused: number }

/** Carries people into an organisation and out of it, for whoever runs the server. */
export function peopleCarrierOf(services: Lent): PeopleCarrier {
  const taking = sessionsOf<Taking>(services)
  const telling = sessionsOf<AsyncIterator<Person>>(services)
  return {
    takePeople: async (asked) => {
      const api = await import("../../domain/transfer/api.ts")
      const [session, work] = taking.open(asked.session, () => begin(services, asked))
      const { orgId, projectId } = asked
      const outcomes = await taking.whole(session, () =>
        api.takePeople(work.cx, { orgId: homeIn(work.cx, orgId), projectId }, asked.people),
      )
      work.taken += countOf(outcomes, "taken")
      work.refused += countOf(outcomes, "refused")
      if (asked.isLast) {
        taking.close(session)
        if (!asked.dryRun && work.taken > 0) await api.noteImport(work.cx, 1, work)
      }
      return { session, outcomes: [...outcomes] }
    },
    tellPeople: async (asked) => {
      const api = await import("../../domain/transfer/api.ts")
      const cx = callOn(services, asked.instance)
      const home = { orgId: homeIn(cx, asked.orgId), projectId: asked.projectId }
      const { withPasswords, withOtp } = asked
      const carried = { withPasswords, withOtp, withSecrets: false }
      if (asked.session === undefined) await api.noteExport(cx, carried, 1)
      const [session, all] = telling.open(asked.session, () => api.peopleOf(cx, home, carried))
      const people: Person[] = []
      while (people.length < partPeople) {
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
      const cx = callOn(services, instance)
      if (orgId !== undefined) homeIn(cx, orgId)
      const { userIds, ...counts } = await confirmEmails(cx, { orgId, isTrial })
      return { ...counts, userIds: [...userIds] }
    },
  }
}

function begin(services: Lent, { instance, dryRun }: TakeAsked): Taking {
  const cx = callOn(services, instance)
  return { cx: dryRun ? { ...cx, store: cx.store.rehearse() } : cx, taken: 0, refused: 0 }
}

const countOf = (outcomes: readonly PersonOutcome[], became: PersonOutcome["became"]) =>
  outcomes.filter((each) => each.became === became).length

function homeIn(cx: Cx, named: string | undefined): string {
  const id = named ?? requireInstance(cx).defaultOrgId
  if (isOrgThere(cx, id)) return id
  const message = `there is no organisation ${JSON.stringify(id)}; name another with --org`
  throw new Fault("not_found", "org.missing", message)
}

/** The same, as the command line asks a server that runs. */
export function peopleControl(services: Lent): Commands {
  const { takePeople, tellPeople, confirmEmails: confirm } = peopleCarrierOf(services)
  return {
    "users-import": (input) => takePeople(takeAsked.parse(input)),
    "users-export": (input) => tellPeople(tellAsked.parse(input)),
    "users-confirm-emails": (input) => confirm(confirmAsked.parse(input)),
  }
}
