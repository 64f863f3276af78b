package reports

import (
	"fmt"

	"autotune/tuner"
)

// endings are how the table calls the ends of searches.
var endings = map[tuner.Stop]string{
	tuner.Satisfied:   "nothing left to gain",
	tuner.AtRoofline:  "at the roofline",
	tuner.TimeSpent:   "the time was up",
	tuner.BudgetSpent: "the budget was spent",
}

// endText says why a search ended that asked what is left to gain, and how sure
// that is.
func (b BestConfig) endText() string {
	s := b.Search
	why := endings[tuner.Stop(s.Stop)]
	if s.Outlook == nil || why == "" {
		return ""
	}
	text := fmt.Sprintf("; %s: ", why)
	if s.Stop == string(tuner.AtRoofline) {
		text += significant(100*b.Roofline.Share, 3) + " % reached, and "
	}
	text += fmt.Sprintf("the chance of more than %.3g %% is %s", 100*(s.Outlook.Target-1), percent(s.Outlook.Chance))
	if s.Evaluations == 0 {
		text += "; --target 0 goes on"
	}
	return text
}

// percent is a chance, which is never quite none.
func percent(chance float64) string {
	if chance > 0 && chance < 0.01 {
		return "under 1 %"
	}
	return fmt.Sprintf("%.0f %%", 100*chance)
}
