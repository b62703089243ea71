import { aggregate, type Event } from "../../store/index.ts"

/** The milestones of an instance. */
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
    /** When the event that reached the milestone happened, in ms since the epoch. */
    readonly at: number
  }
>

/** When each milestone was reached, in ms since the epoch. */
export type ReachedMilestones = { readonly reached: Readonly<Partial<Record<Milestone, number>>> }

/** The milestones of an instance, which has one such stream. */
export const reachedMilestones = aggregate<MilestoneEvent, ReachedMilestones>({
  stream: "milestone",
  initial: { reached: {} },
  evolve: {
    "milestone.reached": (state, { data: { milestone, at } }) => ({
      reached: { ...state.reached, [milestone]: at },
    }),
  },
})

export const reachedId = "reached"
