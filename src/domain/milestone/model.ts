import { aggregate, type Event } from "../../store/index.ts"

/** How far an instance has come. */
export const milestones = [
  "instance_created",
  "signed_in",
  "project_created",
  "application_created",
  "signed_in_to_application",
] as const
export type Milestone = (typeof milestones)[number]

export type MilestoneEvent = Event<
  "milestone.reached",
  {
    readonly milestone: Milestone
    /** When what reached it happened, ms UTC. */
    readonly at: number
  }
>

/** When each was reached, ms UTC. */
export type Reached = { readonly reached: Readonly<Partial<Record<Milestone, number>>> }

/** Of an instance, whose only stream it is. */
export const reached = aggregate<MilestoneEvent, Reached>({
  stream: "milestone",
  initial: { reached: {} },
  evolve: {
    "milestone.reached": (state, { data: { milestone, at } }) => ({
      reached: { ...state.reached, [milestone]: at },
    }),
  },
})

export const reachedId = "reached"
