package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/seer-engine/seer/internal/lazyregexp"
)

const (
	skillFile = "SKILL.md"
	maxSkill  = 4 << 20

	maxSkillName        = 64
	maxSkillDescription = 1024
)

// Skill is an agent skill (agentskills.io): a folder with a SKILL.md.
type Skill struct {
	Name        string
	Description string
	Body        string // of SKILL.md, without what stands at its top
	Files       []File // all of the folder, with paths below it
}

// LoadSkill is the skill of a folder, with everything in it, or of a SKILL.md alone.
func LoadSkill(source string) (Skill, error) {
	info, err := os.Stat(source)
	var files []File
	switch {
	case err == nil && info.IsDir() && !exists(source, skillFile):
		return Skill{}, fmt.Errorf("%s is not a skill: it has no SKILL.md", source)
	case err == nil && info.IsDir():
		if files, err = loadTree(source, "skill", onlyFolder); err == nil {
			for i := range files {
				files[i].Path = strings.TrimPrefix(files[i].Path, "skill/")
			}
		}
	default:
		files, err = loadTree(source, skillFile, onlyFile)
	}
	if err != nil {
		return Skill{}, err
	}
	s := Skill{Files: files}
	for _, f := range files {
		if f.Path == skillFile {
			text, err := f.read(maxSkill)
			if err == nil {
				err = s.parse(string(text))
			}
			if err != nil {
				return s, fmt.Errorf("%s: %w", filepath.Join(f.folder, f.name), err)
			}
		}
	}
	return s, nil
}

// LoadSkills are the skills of a folder of skill folders. Folders without a SKILL.md are
// passed over; one at least has to be there.
func LoadSkills(dir string) ([]Skill, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read as a folder: %w", dir, errors.Unwrap(err))
	}
	var skills []Skill
	var mistakes []error
	for _, e := range entries {
		folder := filepath.Join(dir, e.Name())
		if !exists(folder, skillFile) {
			continue
		}
		s, err := LoadSkill(folder)
		if err != nil {
			mistakes = append(mistakes, err)
			continue
		}
		skills = append(skills, s)
	}
	if len(skills) == 0 && len(mistakes) == 0 {
		hint := ""
		if exists(dir, skillFile) {
			hint = "; it is one itself, so list it under skills"
		}
		return nil, fmt.Errorf("%s has no folder with a SKILL.md%s", dir, hint)
	}
	return skills, errors.Join(mistakes...)
}

// head is what stands at the top of a SKILL.md. Other keys are for agents' programs.
type head struct {
	Name        string `yaml:"name"`
	Description string `yaml:"description"`
}

var skillName = lazyregexp.New(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// parse reads a SKILL.md, by the rules of agentskills.io.
func (s *Skill) parse(text string) error {
	if !utf8.ValidString(text) {
		return errors.New("it is not UTF-8 text")
	}
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	front, body, ok := frontMatter(text)
	if !ok {
		return errors.New("it has to begin with a line ---, then name: and description:, then a line ---")
	}
	var h head
	if err := yaml.Unmarshal([]byte(front), &h); err != nil {
		return fmt.Errorf("what stands between the lines --- is not YAML with name and description: %w", err)
	}
	h.Description = strings.TrimSpace(h.Description)
	switch {
	case h.Name == "":
		return errors.New("it has no name at its top")
	case len(h.Name) > maxSkillName || !skillName().MatchString(h.Name):
		return fmt.Errorf("the name %q is none of a skill: up to %d small letters, digits and single hyphens between them", h.Name, maxSkillName)
	case h.Description == "":
		return errors.New("it has no description at its top, which is all that agents see until they need the skill")
	case utf8.RuneCountInString(h.Description) > maxSkillDescription:
		return fmt.Errorf("its description is longer than %d characters", maxSkillDescription)
	}
	s.Name, s.Description, s.Body = h.Name, h.Description, strings.TrimSpace(body)
	return nil
}

func frontMatter(text string) (front, body string, ok bool) {
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t") != "---" {
		return "", "", false
	}
	for rest != "" {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		if strings.TrimRight(line, " \t") == "---" {
			return front, rest, true
		}
		front += line + "\n"
	}
	return "", "", false
}
